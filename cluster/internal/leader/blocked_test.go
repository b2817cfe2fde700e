package leader

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
)

// TestUntold: which nodes got room that nobody was told of.
func TestUntold(t *testing.T) {
	service := NewEvalService(broker.Config{})
	defer service.Close()
	b := newBlockedEvals(service)
	node := func(id string) *rpc.Node { return &rpc.Node{ID: id} }
	want := func(what string, since uint64, untold string) {
		t.Helper()
		if s, u := b.Announced(); s != since || fmt.Sprint(u) != untold {
			t.Errorf("%s: since %d, untold %v; want %d and %s", what, s, u, since, untold)
		}
	}
	b.Untold(node("a"), 1)
	want("while it is off", 0, "map[]")
	b.setEnabled(true, 2)
	b.Untold(node("a"), 3)
	b.Untold(node("b"), 4)
	b.Untold(node("a"), 5)
	want("two nodes", 2, "map[a:5 b:4]")
	b.Unblock(node("c"), 6)
	want("all are tried again", 2, "map[]")
	b.Untold(node("a"), 7)
	b.setEnabled(true, 8)
	want("another leadership", 8, "map[]")
}

// TestBlockedEvals: who waits for room, who is woken by what, and who is canceled. Nothing
// here depends on time.
func TestBlockedEvals(t *testing.T) {
	type change = func(*broker.Evaluation)
	of := func(job string) change { return func(e *broker.Evaluation) { e.JobID = job } }
	created := func(at uint64) change { return func(e *broker.Evaluation) { e.CreateIndex = at } }
	planned := func(at uint64) change { return func(e *broker.Evaluation) { e.SnapshotIndex = at } }
	fits := func(class string, eligible bool) change {
		return func(e *broker.Evaluation) { e.ClassEligibility = map[string]bool{class: eligible} }
	}
	escaped := func(e *broker.Evaluation) { e.EscapedComputedClass = true }
	failed := func(e *broker.Evaluation) { e.TriggeredBy = broker.TriggeredByMaxPlans }
	full := func(node string) change {
		return func(e *broker.Evaluation) { e.Type, e.NodeID = rpc.JobTypeSystem, node }
	}
	eval := evaluation
	room := func(b *BlockedEvals, node, class string, index uint64) {
		b.Unblock(&rpc.Node{ID: node, NodeClass: class}, index)
	}
	block := func(b *BlockedEvals, evals ...*broker.Evaluation) {
		for _, e := range evals {
			b.Block(e, "")
		}
	}
	for _, tt := range []struct {
		name                     string
		do                       func(b *BlockedEvals)
		blocked, woken, canceled string
	}{
		{"of two of a job the newer stays", func(b *BlockedEvals) {
			block(b, eval("old", of("j"), created(5)), eval("new", of("j"), created(6)))
		}, "new", "", "old"},
		{"whichever came first", func(b *BlockedEvals) {
			block(b, eval("new", of("j"), created(6)), eval("old", of("j"), created(5)))
		}, "new", "", "old"},
		{"the one planned later is the newer", func(b *BlockedEvals) {
			block(b, eval("planned", of("j"), created(5), planned(9)), eval("made", of("j"), created(6), planned(7)))
		}, "planned", "", "made"},
		{"one that blocks again is no duplicate of itself", func(b *BlockedEvals) {
			e := eval("e", planned(5))
			block(b, e, e)
		}, "e", "", ""},
		{"nor a later copy of it", func(b *BlockedEvals) {
			block(b, eval("e", planned(5)), eval("e", planned(6)))
		}, "e", "", ""},
		{"jobs of two namespaces are two", func(b *BlockedEvals) {
			block(b, eval("a", of("j")), eval("b", of("j"), func(e *broker.Evaluation) { e.Namespace = "other" }))
		}, "a b", "", ""},
		{"those that ran out of attempts are tried again", func(b *BlockedEvals) {
			block(b, eval("full"), eval("failed", failed))
			b.unblockFailed()
		}, "full", "failed", ""},
		{"room wakes whom the class suits, and who may not know it", func(b *BlockedEvals) {
			block(b, eval("suits", fits("c", true)), eval("not", fits("c", false)), eval("unknown", fits("d", false)),
				eval("escaped", fits("c", false), escaped), eval("none"))
			room(b, "n", "c", 7)
		}, "not", "escaped none suits unknown", ""},
		{"room since the snapshot was missed", func(b *BlockedEvals) {
			room(b, "n", "c", 7)
			block(b, eval("missed", planned(6)), eval("suits", planned(6), fits("c", true)), eval("not", planned(6), fits("c", false)),
				eval("escaped", planned(6), fits("c", false), escaped), eval("saw", planned(7)))
		}, "not saw", "escaped missed suits", ""},
		{"what missed it cancels the older one", func(b *BlockedEvals) {
			block(b, eval("old", of("j"), planned(3), fits("c", false)))
			room(b, "n", "c", 7)
			block(b, eval("new", of("j"), planned(6)))
		}, "", "new", "old"},
		{"what became of a node matters to those it was full for", func(b *BlockedEvals) {
			block(b, eval("here", full("n"), fits("c", false)), eval("there", full("m"), fits("c", false)))
			room(b, "n", "c", 7)
		}, "here there", "here", ""},
		{"and that once", func(b *BlockedEvals) {
			block(b, eval("here", full("n"), fits("c", true)))
			room(b, "n", "c", 7)
			room(b, "n", "c", 8)
		}, "", "here", ""},
		{"nor after it ended", func(b *BlockedEvals) {
			block(b, eval("here", full("n"), fits("c", false)))
			room(b, "n", "c", 7)
			e, token, err := b.evals.Dequeue(t.Context(), []string{rpc.JobTypeSystem}, 0)
			if err == nil {
				_, err = b.evals.Ack(e.ID, token)
			}
			if err != nil {
				t.Error(err)
			}
			room(b, "n", "c", 8)
		}, "here", "", ""},
		{"of one job on two nodes the older is canceled, and what became of its node wakes both", func(b *BlockedEvals) {
			block(b, eval("there", of("j"), full("m")), eval("here", of("j"), full("n")))
			room(b, "m", "c", 7)
		}, "", "here there", "there"},
		{"a node that registers wakes whom its class suits alone", func(b *BlockedEvals) {
			block(b, eval("there", of("j"), full("m")), eval("here", of("j"), full("n")), eval("other", fits("c", false)))
			b.UnblockClass(&rpc.Node{ID: "m", NodeClass: "c"}, 7)
		}, "other", "here", "there"},
		{"a job planned in full waits no more", func(b *BlockedEvals) {
			block(b, eval("e", of("j")), eval("other"))
			b.untrack(broker.JobID{Namespace: "default", ID: "j"})
			room(b, "n", "c", 7)
		}, "", "other", ""},
		{"but others of its node do", func(b *BlockedEvals) {
			block(b, eval("e", of("j"), full("n"), fits("c", false)), eval("other", full("n"), fits("c", false)))
			b.untrack(broker.JobID{Namespace: "default", ID: "j"})
			room(b, "n", "c", 7)
		}, "other", "other", ""},
		{"that of a system job for no node, though room in its class wakes it", func(b *BlockedEvals) {
			block(b, eval("e", of("j"), full("n"), fits("c", false)))
			b.untrack(broker.JobID{Namespace: "default", ID: "j"})
			room(b, "n", "c", 7)
			room(b, "m", "d", 8)
		}, "", "e", ""},
		{"and the next of it cancels it", func(b *BlockedEvals) {
			block(b, eval("e", of("j"), full("n"), fits("c", false)))
			b.untrack(broker.JobID{Namespace: "default", ID: "j"})
			block(b, eval("next", of("j"), full("m")))
			b.untrack(broker.JobID{Namespace: "default", ID: "j"})
		}, "", "", "e"},
		{"one that blocked before this leadership is forgotten", func(b *BlockedEvals) {
			block(b, eval("e", of("j"), full("n")))
			b.setEnabled(false, 0)
			b.setEnabled(true, 1)
			block(b, eval("next", of("j")))
			b.untrack(broker.JobID{Namespace: "default", ID: "j"})
			room(b, "n", "c", 7)
		}, "", "", ""},
		{"a table that is off knows nobody", func(b *BlockedEvals) {
			block(b, eval("before"))
			b.setEnabled(false, 0)
			block(b, eval("after"))
			room(b, "n", "c", 7)
		}, "", "", ""},
		{"and forgets what it knew", func(b *BlockedEvals) {
			block(b, eval("old", of("j"), created(1)), eval("older", of("j")))
			room(b, "n", "c", 7)
			b.setEnabled(true, 8)
			block(b, eval("new", planned(6)))
		}, "new", "old", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			service := NewEvalService(broker.Config{})
			defer service.Close()
			service.SetEnabled(true)
			b := newBlockedEvals(service)
			b.setEnabled(true, 1)
			tt.do(b)
			var blocked, woken, canceled []string
			for w := range maps.Values(b.jobs) {
				if !w.done {
					blocked = append(blocked, w.eval.ID)
				}
			}
			held := service.broker.State()
			for _, h := range append(held.Ready, held.Pending...) {
				woken = append(woken, h.Eval.ID)
			}
			for _, e := range b.dups {
				canceled = append(canceled, e.ID)
			}
			for what, ids := range map[string]struct {
				got  []string
				want string
			}{"wait": {blocked, tt.blocked}, "are woken": {woken, tt.woken}, "are to be canceled": {canceled, tt.canceled}} {
				slices.Sort(ids.got)
				if got := strings.Join(ids.got, " "); got != ids.want {
					t.Errorf("%q %s, want %q", got, what, ids.want)
				}
			}
			if b.Size() != len(blocked) {
				t.Errorf("Size is %d with %d blocked", b.Size(), len(blocked))
			}
		})
	}
}

// TestBlockedAgain: an evaluation that blocks again under its token goes back to the broker
// only when it is acked, for it is still out.
func TestBlockedAgain(t *testing.T) {
	service := NewEvalService(broker.Config{})
	defer service.Close()
	service.SetEnabled(true)
	b := newBlockedEvals(service)
	b.setEnabled(true, 1)
	service.Enqueue(evaluation("e"))
	e, token, err := service.Dequeue(t.Context(), []string{"service"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	b.Block(e, token)
	b.Unblock(&rpc.Node{ID: "n"}, 7)
	if s := service.Stats(); s.Ready != 0 || s.Unacked != 1 {
		t.Errorf("woken while it is out: %+v", s)
	}
	if _, err := service.Ack(e.ID, token); err != nil {
		t.Fatal(err)
	}
	if s := service.Stats(); s.Ready != 1 || s.Unacked != 0 {
		t.Errorf("after the ack: %+v, want it ready", s)
	}
}
