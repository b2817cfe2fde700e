package raftnode

import (
	"errors"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/cluster/simnet"
	"github.com/simctl/simctl/internal/virtualtest"
)

// TestRequestsOfPastLeaderships: a request of a leadership that is over, or that never was the sender's,
// is answered by the sender's own transport, with a newer term.
func TestRequestsOfPastLeaderships(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		nodes := startNodes(t, 3)
		term := nodes[0].Term()
		for _, c := range []struct {
			from, to *Node
			term     uint64
			ours     bool
		}{
			{nodes[0], nodes[1], term, false},
			{nodes[0], nodes[1], term - 2, true},
			{nodes[1], nodes[2], term, true},
		} {
			var resp raft.AppendEntriesResponse
			req := &raft.AppendEntriesRequest{Term: c.term, PrevLogEntry: 1 << 20, PrevLogTerm: 1}
			err := c.from.Transport.AppendEntries("", raft.ServerAddress(c.to.opts.Addr), req, &resp)
			if ours := err == nil && resp.Term == c.term+1; ours != c.ours {
				t.Errorf("of term %d while %s leads in %d: %v, term %d; answered by itself: %v, want %v", c.term, nodes[0].opts.Addr, term, err, resp.Term, ours, c.ours)
			}
		}
		if !nodes[0].Leads() || nodes[0].Term() != term || nodes[0].LastIndex() == 0 {
			t.Errorf("%s leads: %v, in term %d, at %d", nodes[0].opts.Addr, nodes[0].Leads(), nodes[0].Term(), nodes[0].LastIndex())
		}
	})
}

// unreadableVotes are votes on a disk that fails.
type unreadableVotes struct{ raft.StableStore }

func (unreadableVotes) GetUint64([]byte) (uint64, error) { return 0, errors.New("bad sector") }

// TestNodesThatCannotStart say why.
func TestNodesThatCannotStart(t *testing.T) {
	storage, err := NewStorages("", false).New("a")
	if err != nil {
		t.Fatal(err)
	}
	storage.stable = unreadableVotes{}
	network := simnet.New(1, simnet.Link{}, simnet.Link{})
	n := New(Options{Addr: "a", Peers: []string{"a"}, Storage: storage, Transport: network.NewTransport("a", nil)})
	if err := n.Start(nothing{}); err == nil || !strings.Contains(err.Error(), "start a: ") || !strings.Contains(err.Error(), "bad sector") {
		t.Errorf("%v", err)
	}
	if err := n.Transport.Close(); err != nil {
		t.Error(err)
	}
	if _, err := countLife(unreadableVotes{}); err == nil {
		t.Error("processes were counted that nobody can read")
	}
	if _, err := countLife(fullVotes{}); err == nil {
		t.Error("a process was counted that nobody could write down")
	}
	if err := newLogStore(unreadable{}).review(); err == nil {
		t.Error("a log was reviewed that nobody can read")
	}
}

// fullVotes are votes on a disk without room.
type fullVotes struct{ raft.StableStore }

func (fullVotes) GetUint64([]byte) (uint64, error) { return 0, nil }
func (fullVotes) SetUint64([]byte, uint64) error   { return syscall.ENOSPC }

// TestRestoredSnapshots: one that comes from the leader stands for entries that may never have been
// agreed on. One that a process starts with does not.
func TestRestoredSnapshots(t *testing.T) {
	for joined, want := range map[bool]string{false: "[0 1 1 1 1 1 1]", true: "[0 1 1 0 0 0 1]"} {
		storage, err := NewStorages("", false).New("a")
		if err != nil {
			t.Fatal(err)
		}
		trans := simnet.New(1, simnet.Link{}, simnet.Link{}).NewTransport("a", nil)
		n := New(Options{Addr: "a", Storage: storage, Transport: trans})
		for i := range uint64(6) {
			if err := n.Logs.StoreLog(&raft.Log{Index: i + 1, Term: 1, Type: raft.LogNoop}); err != nil {
				t.Fatal(err)
			}
		}
		if err := n.Restored(); err != nil || n.applied.Load() != 0 {
			t.Errorf("without a snapshot: %v, applied %d", err, n.applied.Load())
		}
		sink, err := storage.snaps.Create(raft.SnapshotVersionMax, 5, 1, raft.Configuration{}, 0, trans)
		if err := errors.Join(err, sink.Close()); err != nil {
			t.Fatal(err)
		}
		n.Applied(2)
		n.joined.Store(joined)
		if err := n.Restored(); err != nil || n.applied.Load() != 5 || fmt.Sprint(n.Logs.termsUpTo(6)) != want {
			t.Errorf("joined %v: %v, applied %d, terms %v; want 5 and %s", joined, err, n.applied.Load(), n.Logs.termsUpTo(6), want)
		}
		if err := trans.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestPeersThatAreRemoved are no beginnings.
func TestPeersThatAreRemoved(t *testing.T) {
	l := newTieBreaker(nil)
	for _, o := range []any{raft.PeerObservation{}, raft.PeerObservation{Removed: true}, raft.LeaderObservation{}} {
		l.observe(&raft.Observation{Data: o})
	}
	if n := l.peers.Load(); n != 1 {
		t.Errorf("%d peers were new, want 1", n)
	}
}

// TestSeedRaft: after the same seed the source that Raft draws from yields the same.
func TestSeedRaft(t *testing.T) {
	t.Setenv("GODEBUG", "randseednop=0")
	draw := func(seed int64) []int64 {
		SeedRaft(seed)
		return []int64{rand.Int63(), rand.Int63()}
	}
	if a, b, c := draw(1), draw(1), draw(2); !slices.Equal(a, b) || slices.Equal(a, c) {
		t.Errorf("the draws of seed 1 are %d and %d, those of seed 2 %d", a, b, c)
	}
}

// TestWhatALogRemembers: the terms and types of its entries, and which the state machine gets to see.
func TestWhatALogRemembers(t *testing.T) {
	blocks := newArchive(extent{4, 9}, extent{3, 20})
	log := newMemoryLog(blocks)
	s := newLogStore(log)
	kinds := []raft.LogType{raft.LogConfiguration, raft.LogNoop, raft.LogCommand, raft.LogCommand, raft.LogNoop, raft.LogBarrier}
	for i, kind := range kinds {
		l := &raft.Log{Index: uint64(i + 1), Term: 1 + uint64(i/3), Type: kind}
		if kind == raft.LogCommand {
			l.Data = []byte{byte(fsm.EvalUpdate.Type)}
		}
		if err := s.StoreLog(l); err != nil {
			t.Fatal(err)
		}
	}
	again := newLogStore(log)
	if err := again.review(); err != nil {
		t.Fatal(err)
	}
	for _, l := range []*LogStore{s, again} {
		if got := fmt.Sprint(l.termsUpTo(9)); got != "[0 1 1 1 2 2 2]" {
			t.Errorf("terms %s", got)
		}
		types := l.TypesBetween(0, 8)
		if len(types) != 8 || types[2] != fsm.EvalUpdate.Type || types[3] != types[2] || types[4] == types[2] || types[6] != 0 || types[7] != 0 {
			t.Errorf("types %v", types)
		}
		if got := l.TypesBetween(5, 6); types[5] == 0 || !slices.Equal(got, types[5:6]) {
			t.Errorf("the type of the last: %v, want %v", got, types[5:6])
		}
		for after := range uint64(3) {
			if got := l.TypesBetween(6+after, 9+after); !slices.Equal(got, make([]fsm.Type, 3)) {
				t.Errorf("types of what is not there: %v", got)
			}
		}
		for upTo, want := range []uint64{0, 0, 0, 3, 4, 4, 4, 4, 4} {
			if got := l.lastCommand(uint64(upTo)); got != want {
				t.Errorf("the last command up to %d is %d, want %d", upTo, got, want)
			}
		}
	}
	if got := newLogStore(newMemoryLog(blocks)).lastCommand(5); got != 0 {
		t.Errorf("the last command of nothing is %d", got)
	}
}

// TestWrittenOver: an entry inside a block can be written again.
func TestWrittenOver(t *testing.T) {
	m := newMemoryLog(newArchive(extent{4, 9}, extent{3, 20}))
	store := func(index, term uint64) {
		if err := m.StoreLog(&raft.Log{Index: index, Term: term}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range uint64(20) {
		store(i+1, 1)
	}
	store(6, 2)
	for i := range uint64(20) {
		var l raft.Log
		if err := m.GetLog(i+1, &l); err != nil || l.Term != map[bool]uint64{false: 1, true: 2}[i+1 == 6] {
			t.Errorf("entry %d is of term %d, %v", i+1, l.Term, err)
		}
	}
}

// TestStoragesOnDisk: each process that opens one is counted, an old one is opened only for a cluster
// that goes on, and what is closed is closed.
func TestStoragesOnDisk(t *testing.T) {
	dir := t.TempDir()
	var kept []*Storage
	opened := func(s *Storage, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if s.Life != len(kept) {
			t.Errorf("%d processes before, want %d", s.Life, len(kept))
		}
		kept = append(kept, s)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if !s.Logs.closed.Load() {
			t.Error("it is not closed")
		}
	}
	opened(NewStorages(dir, false).New("a"))
	opened(kept[0].Reopen())
	opened(NewStorages(dir, true).New("a"))
	if _, err := NewStorages(dir, false).New("a"); err == nil || !strings.Contains(err.Error(), "a cluster needs a data directory without servers") {
		t.Errorf("a new cluster where an old one is: %v", err)
	}
	if err := errors.Join(os.RemoveAll(kept[2].dir), os.WriteFile(kept[2].dir, nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	if _, err := kept[2].Reopen(); err == nil || !strings.Contains(err.Error(), "open the Raft log") {
		t.Errorf("a file in the place of its directory: %v", err)
	}
	memory, err := NewStorages("", false).New("a")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(memory.Close(), memory.Close()); err != nil || memory.Logs.closed.Load() {
		t.Errorf("in memory: %v, closed %v", err, memory.Logs.closed.Load())
	}
	if next, err := memory.Reopen(); err != nil || next.Life != 1 || next.Logs != memory.Logs {
		t.Errorf("in memory, reopened: %+v, %v", next, err)
	}
}

// TestStoragesThatCannotBeOpened say what of them could not.
func TestStoragesThatCannotBeOpened(t *testing.T) {
	key := lives
	defer func() { lives = key }()
	for _, tt := range []struct {
		spoil func(dir string) error
		want  string
	}{
		{func(dir string) error { return os.WriteFile(filepath.Join(dir, "raft.db"), []byte("no log"), 0o600) }, "open the Raft log"},
		{func(dir string) error { return os.WriteFile(filepath.Join(dir, "snapshots"), nil, 0o600) }, "open the snapshots in"},
		{func(string) error { lives = nil; return nil }, "count the processes of"}, // BoltDB stores nothing under an empty key
	} {
		dir := t.TempDir()
		if err := tt.spoil(dir); err != nil {
			t.Fatal(err)
		}
		if _, err := openStorage(dir); err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%v, want %s %s", err, tt.want, dir)
		}
	}
}

// TestSnapshotsOnDisk: a server keeps two.
func TestSnapshotsOnDisk(t *testing.T) {
	storage, err := openStorage(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	trans := simnet.New(1, simnet.Link{}, simnet.Link{}).NewTransport("a", nil)
	for index := range uint64(4) {
		sink, err := storage.snaps.Create(raft.SnapshotVersionMax, index+1, 1, raft.Configuration{}, 0, trans)
		if err != nil {
			t.Fatal(err)
		}
		if err := sink.Close(); err != nil {
			t.Fatal(err)
		}
	}
	snaps, err := storage.snaps.List()
	if err := errors.Join(err, storage.Close(), trans.Close()); err != nil || len(snaps) != 2 || snaps[0].Index != 4 {
		t.Errorf("%d snapshots are left, %v; want the last 2", len(snaps), err)
	}
}
