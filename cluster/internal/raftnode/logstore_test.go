package raftnode

import (
	"errors"
	"slices"
	"syscall"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/cluster/simnet"
)

// TestSnapshotTakesThePlaceOfEntries: what a server had stored and never applied is not
// held against the others once the leader's snapshot stands for it.
func TestSnapshotTakesThePlaceOfEntries(t *testing.T) {
	stale, agreed := newLogStore(newMemoryLog(newArchive(extent{4, 9}, extent{3, 20}))), newLogStore(newMemoryLog(newArchive(extent{4, 9}, extent{3, 20})))
	for i := uint64(1); i <= 10; i++ {
		data := []byte{byte(fsm.EvalUpdate.Type)}
		for _, s := range []*LogStore{stale, agreed} {
			term := uint64(1)
			if s == agreed && i > 5 {
				term, data = 2, []byte{byte(fsm.ApplyPlanResults.Type)}
			}
			if err := s.StoreLog(&raft.Log{Index: i, Term: term, Type: raft.LogCommand, Data: data}); err != nil {
				t.Fatal(err)
			}
		}
	}
	logs := []Member{{Addr: "a", Logs: agreed}, {Addr: "b", Logs: stale}}
	terms := func() [][]uint32 { return [][]uint32{agreed.termsUpTo(10), stale.termsUpTo(10)} }
	if differentTerms(logs, terms()) == nil || differentData(logs, 10) == nil {
		t.Error("different logs were found to agree")
	}
	stale.supersede(5, 10)
	if err := differentTerms(logs, terms()); err != nil {
		t.Error(err)
	}
	if err := differentData(logs, 10); err != nil {
		t.Error(err)
	}
	if got := stale.termsUpTo(10); !slices.Equal(got, []uint32{0, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0}) {
		t.Errorf("terms %v", got)
	}
}

// TestFree: the room of deleted entries is free until later ones have taken it, whichever process they belong to.
func TestFree(t *testing.T) {
	for _, count := range []bool{true, false} {
		s := newLogStore(newMemoryLog(newArchive(extent{4, 9}, extent{3, 20})))
		s.CountFree = count
		next := uint64(1)
		store := func(n int) {
			for range n {
				if err := s.StoreLog(&raft.Log{Index: next, Term: 1, Data: make([]byte, 100)}); err != nil {
					t.Fatal(err)
				}
				next++
			}
		}
		free := func(when string, want int) {
			if !count {
				want = 0
			}
			if got := s.Free(); got != want {
				t.Errorf("counting %v: %d bytes are free %s, want %d", count, got, when, want)
			}
		}
		store(20)
		free("at first", 0)
		if err := s.DeleteRange(1, 12); err != nil {
			t.Fatal(err)
		}
		free("after a snapshot", 1200)
		store(5)
		free("when five have come", 700)
		after := newLogStore(s.LogStore)
		after.remember(s)
		s = after
		free("in the next process", 700)
		store(8)
		free("when all is taken", 0)
	}
}

// fullDisk is a log that cannot grow.
type fullDisk struct{ raft.LogStore }

func (fullDisk) StoreLogs([]*raft.Log) error { return syscall.ENOSPC }

// TestBrokenLog: what could not be stored is remembered, unless the log was closed.
func TestBrokenLog(t *testing.T) {
	s := newLogStore(newMemoryLog(newArchive(extent{4, 9}, extent{3, 20})))
	entry := &raft.Log{Index: 1, Term: 1}
	if err := errors.Join(s.StoreLog(entry), s.Broken()); err != nil {
		t.Fatal(err)
	}
	s.LogStore = fullDisk{}
	if err := s.StoreLog(entry); !errors.Is(err, syscall.ENOSPC) || !errors.Is(s.Broken(), syscall.ENOSPC) {
		t.Errorf("on a full disk: %v, and then %v; want both times %v", err, s.Broken(), syscall.ENOSPC)
	}
	closed := newLogStore(fullDisk{})
	closed.closed.Store(true)
	if _ = closed.StoreLog(entry); closed.Broken() != nil {
		t.Errorf("a log that is closed is broken: %v", closed.Broken())
	}
}

// TestFullDisk: a snapshot for which there is no room leaves the one before it. An entry for which there is no room leaves no trace, and the log is not broken.
func TestFullDisk(t *testing.T) {
	s, full := newLogStore(newMemoryLog(newArchive(extent{4, 9}, extent{3, 20}))), true
	s.full = func() bool { return full }
	entry := &raft.Log{Index: 1, Term: 1}
	if err := s.StoreLog(entry); !errors.Is(err, ErrDiskFull) || s.Broken() != nil || s.Term(1) != 0 {
		t.Errorf("on a full disk: %v, broken %v, term %d; want %v alone", err, s.Broken(), s.Term(1), ErrDiskFull)
	}
	full = false
	if err := s.StoreLog(entry); err != nil || s.Term(1) != 1 {
		t.Errorf("with room again: %v, term %d", err, s.Term(1))
	}
	kept, err := NewStorages("", false).New("a")
	if err != nil {
		t.Fatal(err)
	}
	kept.Logs.full = s.full
	trans := simnet.New(1, simnet.Link{}, simnet.Link{}).NewTransport("a", nil)
	defer trans.Close()
	snapshot := func(index uint64) error {
		_, err := kept.snaps.Create(raft.SnapshotVersionMax, index, 1, raft.Configuration{}, 0, trans)
		return err
	}
	if err := snapshot(5); err != nil {
		t.Error(err)
	}
	full = true
	if err := snapshot(6); !errors.Is(err, ErrDiskFull) {
		t.Errorf("a snapshot on a full disk: %v, want %v", err, ErrDiskFull)
	}
	if snaps, err := kept.snaps.List(); err != nil || len(snaps) != 1 || snaps[0].Index != 5 {
		t.Errorf("after a snapshot for which there was no room: %v, %v; want that of index 5", snaps, err)
	}
	last := func() uint64 {
		index, err := s.LastIndex()
		if err != nil {
			t.Error(err)
		}
		return index
	}
	if err := s.DeleteRange(1, 1); !errors.Is(err, ErrDiskFull) || last() != 1 {
		t.Errorf("deleting on a full disk: %v, and the log ends at %d", err, last())
	}
	full = false
	if err := s.DeleteRange(1, 1); err != nil || last() != 0 {
		t.Errorf("deleting with room again: %v, and the log ends at %d", err, last())
	}
}
