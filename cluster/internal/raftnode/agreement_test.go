package raftnode

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/simctl/simctl/cluster/internal/config"
	"github.com/simctl/simctl/cluster/internal/fsm"
)

// logOf returns a log with an entry for each word, its term and its data; "-" is no entry, as where
// a snapshot came in between. Logs share the blocks of an archive.
func logOf(t *testing.T, archive *archive, words string) *LogStore {
	t.Helper()
	s := newLogStore(newMemoryLog(archive))
	for i, w := range strings.Fields(words) {
		if w == "-" {
			continue
		}
		l := &raft.Log{Index: uint64(i + 1), Term: uint64(w[0] - '0'), Type: raft.LogCommand, Data: append([]byte{byte(fsm.EvalUpdate.Type)}, w[1:]...)}
		if err := s.StoreLog(l); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// TestCheck: which logs agree with each other, and with what was acknowledged.
func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		name    string
		logs    []string // by server; a leading "off" is one that is stopped, a number what it has applied if not all
		acked   string   // like a log
		upTo    uint64
		differ  string // a part of the error; empty: there is none
		missing string
	}{
		{name: "none is there", logs: []string{"", "", ""}},
		{name: "equal", logs: []string{"1a 1b 2c", "1a 1b 2c", "1a 1b 2c"}, acked: "1 - 2", upTo: 3},
		{name: "another term", logs: []string{"1a 1b 2c", "1a 1b 2c", "1a 1b 3c"}, upTo: 3, differ: "entry 3 is of term 2 on 0 and of term 3 on 2"},
		{name: "another term on the second, which the first has not", logs: []string{"1a - 2c", "1a 1b 2c", "1a 2b 2c"}, upTo: 3, differ: "entry 2 is of term 1 on 1 and of term 2 on 2"},
		{name: "another term than that of the first, which the second has not", logs: []string{"1a 1b", "1a -", "1a 2b"}, upTo: 2, differ: "entry 2 is of term 1 on 0 and of term 2 on 2"},
		{name: "other data", logs: []string{"1a 1b", "1a 1b", "1a 1bb"}, upTo: 2, differ: "0 and 2: entry 2"},
		{name: "other data, which the first never had", logs: []string{"- - 1c", "1a 1b 1c", "1a 1x 1c"}, upTo: 3, differ: "1 and 2: entry 2"},
		{name: "other data, at the end of a longer log", logs: []string{"off 1a", "1a 1b", "1a 1x"}, upTo: 2, differ: "1 and 2: entry 2"},
		{name: "other data, in an old block", logs: []string{"1a 1b 1c 1d 1e 1f 1g 1h 1i 1j", "1a 1b 1c 1d 1e 1x 1g 1h 1i 1j"}, upTo: 10, differ: "0 and 1: entry 6"},
		{name: "other data, after a block that both share", logs: []string{"1a 1b 1c 1d 1e 1f 1g 1h 1i 1j", "1a 1b 1c 1d 1e 1f 1g 1h 1i 1x"}, upTo: 10, differ: "0 and 1: entry 10"},
		{name: "beyond what all have applied", logs: []string{"1 1a 1b", "1a 2b"}, acked: "1", upTo: 1},
		{name: "on a stopped server", logs: []string{"off 1x", "1a", "1a"}, upTo: 1, differ: "0 and 1: entry 1"},
		{name: "stopped, and behind", logs: []string{"1a 1b 1c", "off 1a", "1a 1b 1c"}, acked: "1 1 1", upTo: 3},
		{name: "not applied by all", logs: []string{"1a 1b", "1 1a"}, acked: "1 1", upTo: 1, missing: "entry 2 was acknowledged, but some server has applied no more than 1"},
		{name: "overwritten", logs: []string{"1a 2b", "1a 2b"}, acked: "1 1", upTo: 2, missing: "entry 2 of term 1 was acknowledged, but 0 has one of term 2"},
		{name: "overwritten on the last alone", logs: []string{"1a 1b", "1a 2b"}, acked: "1 1", upTo: 2, differ: "entry 2", missing: "but 1 has one of term 2"},
		{name: "overwritten on a stopped server", logs: []string{"1a 1b", "1a 1b", "off 1a 2b"}, acked: "1 1", upTo: 2, differ: "entry 2"},
		{name: "which a snapshot stands for", logs: []string{"- - 1c", "1a 1b 1c"}, acked: "1 1 1", upTo: 3},
	} {
		var members []Member
		archive := newArchive(extent{4, 9}, extent{3, 20})
		for i, words := range tt.logs {
			m := Member{Addr: string(rune('0' + i)), Running: true}
			words, stopped := strings.CutPrefix(words, "off ")
			words, one := strings.CutPrefix(words, "1 ")
			m.Running, m.Logs = !stopped, logOf(t, archive, words)
			if m.Applied = uint64(len(strings.Fields(words))); one {
				m.Applied = 1
			}
			members = append(members, m)
		}
		var acked Acked
		if acked.Highest() != 0 {
			t.Errorf("of nothing the highest is %d", acked.Highest())
		}
		told := 0
		for i, w := range strings.Fields(tt.acked) {
			if w != "-" {
				acked.Note(uint64(i+1), uint32(w[0]-'0'))
				told++
			}
		}
		a := Check(members, &acked)
		says := func(err error, part string) bool {
			return (err == nil) == (part == "") && (err == nil || strings.Contains(err.Error(), part))
		}
		if a.UpTo != tt.upTo || a.Acked != told || !says(a.Logs, tt.differ) || !says(a.Lost, tt.missing) {
			t.Errorf("%s: %+v; want up to %d, %q and %q", tt.name, a, tt.upTo, tt.differ, tt.missing)
		}
		if acked.Highest() != uint64(len(strings.Fields(tt.acked))) {
			t.Errorf("%s: the highest is %d", tt.name, acked.Highest())
		}
	}
}

// TestOtherDataAnywhere: one entry that differs is found wherever it is, before, behind and in blocks that logs share.
func TestOtherDataAnywhere(t *testing.T) {
	const length = 11
	for at := range length {
		archive, words := newArchive(extent{4, 9}, extent{3, 20}), strings.Fields(strings.Repeat("1a ", length))
		one := logOf(t, archive, strings.Join(words, " "))
		words[at] = "1x"
		other := logOf(t, archive, strings.Join(words, " "))
		want := fmt.Sprintf("entry %d is EvalUpdateRequestType of 2 bytes and EvalUpdateRequestType of 2 bytes", at+1)
		if err := sameData(one, other, 1, length); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestSameData: what is compared of two entries, and that what one of the logs does not have any more is not.
func TestSameData(t *testing.T) {
	command := raft.Log{Index: 1, Term: 1, Type: raft.LogCommand, Data: []byte{byte(fsm.EvalUpdate.Type)}}
	barrier, longer := command, command
	barrier.Type, longer.Data = raft.LogBarrier, append(longer.Data, 1)
	for _, tt := range []struct {
		name  string
		other raft.Log
		then  func(*LogStore) error // happens to one of the logs
		says  string
	}{
		{name: "equal", other: command},
		{name: "of another type", other: barrier, says: "entry 1 is"},
		{name: "of other data", other: longer, says: "entry 1 is"},
		{name: "superseded", other: longer, then: func(s *LogStore) error { s.supersede(0, 1); return nil }},
		{name: "compacted", other: longer, then: func(s *LogStore) error { return s.DeleteRange(1, 1) }},
		{name: "unreadable", other: command, then: func(s *LogStore) error { s.LogStore = unreadable{s.LogStore}; return nil }, says: "read entry 1: bad sector"},
	} {
		for which := range 2 {
			archive := newArchive(extent{4, 9}, extent{3, 20})
			logs := []*LogStore{newLogStore(newMemoryLog(archive)), newLogStore(newMemoryLog(archive))}
			err := errors.Join(logs[0].StoreLog(&command), logs[1].StoreLog(&tt.other))
			if tt.then != nil {
				err = errors.Join(err, tt.then(logs[which]))
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := sameData(logs[0], logs[1], 1, 1); (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%s, log %d: %v, want %q", tt.name, which, err, tt.says)
			}
		}
	}
}

// TestAckedOutOfOrder: callers may be told of a later entry first.
func TestAckedOutOfOrder(t *testing.T) {
	var a Acked
	for _, index := range []uint64{5, 3, 5, 9, 8} {
		a.Note(index, uint32(index))
	}
	if got := fmt.Sprint(a.terms, a.Highest(), a.count); got != "[0 0 0 3 0 5 0 0 8 9] 9 5" {
		t.Errorf("terms, highest and number: %s", got)
	}
}

// unreadable is a log on a disk that fails.
type unreadable struct{ raft.LogStore }

func (unreadable) FirstIndex() (uint64, error)    { return 0, errors.New("bad sector") }
func (unreadable) GetLog(uint64, *raft.Log) error { return errors.New("bad sector") }

// TestCheckOfWhatCannotBeRead: it is no agreement.
func TestCheckOfWhatCannotBeRead(t *testing.T) {
	archive := newArchive(extent{4, 9}, extent{3, 20})
	good, bad := logOf(t, archive, "1a"), logOf(t, archive, "1a")
	bad.LogStore = unreadable{bad.LogStore}
	a := Check([]Member{{Addr: "a", Logs: good, Running: true, Applied: 1}, {Addr: "b", Logs: bad, Running: true, Applied: 1}}, &Acked{})
	if a.Logs == nil || !strings.Contains(a.Logs.Error(), "b: read the bounds of the log: bad sector") {
		t.Errorf("%v", a.Logs)
	}
}

// TestLogsInMemory: one entry, and deletions of what is not there.
func TestLogsInMemory(t *testing.T) {
	m := newMemoryLog(newArchive(extent{4, 9}, extent{3, 20}))
	if err := m.DeleteRange(1, 9); err != nil {
		t.Error(err)
	}
	for i := uint64(5); i <= 7; i++ {
		if err := m.StoreLog(&raft.Log{Index: i, Term: 3}); err != nil {
			t.Fatal(err)
		}
	}
	for _, none := range [][2]uint64{{1, 4}, {8, 9}, {9, 10}} {
		if err := m.DeleteRange(none[0], none[1]); err != nil {
			t.Error(err)
		}
	}
	first, _ := m.FirstIndex()
	last, _ := m.LastIndex()
	var l raft.Log
	if err := m.GetLog(7, &l); first != 5 || last != 7 || err != nil || l.Term != 3 {
		t.Errorf("from %d to %d, the last %+v, %v; want 5 to 7", first, last, l, err)
	}
}

// TestSettingsReachRaft: all of them.
func TestSettingsReachRaft(t *testing.T) {
	want := config.RaftConfig{
		HeartbeatTimeout: 5 * time.Second, ElectionTimeout: 6 * time.Second, LeaderLeaseTimeout: 4 * time.Second, CommitTimeout: 3 * time.Second,
		SnapshotThreshold: 77, SnapshotInterval: 7 * time.Second, TrailingLogs: 88,
	}
	storage, err := NewStorages("", false).New("a")
	if err != nil {
		t.Fatal(err)
	}
	c := New(Options{Addr: "a", Config: want, Storage: storage}).raftConfig()
	got := config.RaftConfig{
		HeartbeatTimeout: c.HeartbeatTimeout, ElectionTimeout: c.ElectionTimeout, LeaderLeaseTimeout: c.LeaderLeaseTimeout, CommitTimeout: c.CommitTimeout,
		SnapshotThreshold: c.SnapshotThreshold, SnapshotInterval: c.SnapshotInterval, TrailingLogs: c.TrailingLogs,
	}
	if got != want || c.LocalID != "a" {
		t.Errorf("%s has %+v, want %+v", c.LocalID, got, want)
	}
}

// TestStorageWithoutADirectory: it says what it could not make.
func TestStorageWithoutADirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := NewStorages(file, false).New("server-1"); err == nil || !strings.Contains(err.Error(), "make the data directory of server-1") {
		t.Errorf("below a file: %v", err)
	}
}
