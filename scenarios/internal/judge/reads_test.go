package judge

import (
	"strings"
	"testing"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

// TestReads: what servers may answer, and what they must not.
func TestReads(t *testing.T) {
	one, two := state.New(), state.New()
	consistent := func(client int, acked, index uint64) Read { return Read{Client: client, Acked: acked, Index: index} }
	stale := func(client int, life *state.Store, index uint64) Read {
		return Read{Client: client, Stale: true, Life: life, Acked: 100, Index: index}
	}
	setBack := func(times int, index uint64) Read {
		return Read{Stale: true, Life: one, SetBack: times, Index: index}
	}
	for _, c := range []struct {
		name  string
		reads []Read
		want  string // empty: nothing is wrong
	}{
		{"forward", []Read{consistent(0, 5, 7), consistent(0, 7, 7), consistent(0, 7, 9)}, ""},
		{"another client is behind", []Read{consistent(0, 5, 9), consistent(1, 5, 7)}, ""},
		{"a write was acknowledged", []Read{consistent(0, 8, 7)}, "1 read; 1 goes back, the first: client 0 read index 7 through server 1, although a write at 8 had been acknowledged"},
		{"back", []Read{consistent(0, 5, 9), consistent(0, 5, 7)}, "client 0 read index 9, and later 7 through server 1"},
		{"stale reads are behind writes", []Read{stale(0, one, 7)}, ""},
		{"stale reads are behind consistent ones", []Read{consistent(0, 5, 9), stale(0, one, 7)}, ""},
		{"a stale read of another server", []Read{stale(0, one, 9), stale(0, two, 7)}, ""},
		{"a stale read goes back", []Read{stale(0, one, 9), stale(0, one, 7)}, "client 0 read index 9 from server 1, and later 7 from the same process"},
		{"a snapshot led back", []Read{setBack(0, 9), setBack(1, 7), setBack(1, 8)}, ""},
		{"back, and no snapshot led there", []Read{setBack(1, 9), setBack(1, 7)}, "client 0 read index 9 from server 1, and later 7 from the same process"},
	} {
		var r Reads
		for _, read := range c.reads {
			r.See(read)
		}
		got := r.Verdicts()[0]
		if got.OK != (c.want == "") || !strings.HasSuffix(got.Detail, c.want) || got.OK && strings.Contains(got.Detail, ";") {
			t.Errorf("%s: %+v, want %q", c.name, got, c.want)
		}
	}
}

// TestHeldStates: whoever writes to a row that is in the state is found by those who hold it.
func TestHeldStates(t *testing.T) {
	s := state.New()
	if err := s.Update(1, func(tx *state.Tx) error {
		return tx.UpsertNode(&rpc.Node{ID: "n", Status: rpc.NodeStatusReady})
	}); err != nil {
		t.Fatal(err)
	}
	var r Reads
	snap := s.Snapshot()
	print := snap.Fingerprint()
	if err := s.Update(2, func(tx *state.Tx) error { return tx.UpdateNodeStatus("n", rpc.NodeStatusDown, 0, "") }); err != nil {
		t.Fatal(err)
	}
	r.Held(snap, print)
	if v := r.Verdicts()[1]; !v.OK || v.Detail != "1 held" {
		t.Errorf("after a change of the state: %+v", v)
	}
	snap.NodeByID("n").Status = rpc.NodeStatusDown // a bug
	r.Held(snap, print)
	if v := r.Verdicts()[1]; v.OK || !strings.HasPrefix(v.Detail, "2 held; 1 changed, the first: the state of index 1 had fingerprint ") {
		t.Errorf("after a change of what is held: %+v", v)
	}
}
