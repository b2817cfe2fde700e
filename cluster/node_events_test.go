package cluster

import (
	"testing"
	"time"

	"github.com/simctl/simctl/internal/virtualtest"
)

// TestNodeEvents: what happens on a node in one go is one entry, and changes nothing that
// schedulers would look at.
func TestNodeEvents(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		r := newRig(t, 5, Config{Seed: 1})
		nodes := []string{"node-00000", "node-00003"}
		before := r.snap().NodeByID(nodes[1]).ModifyIndex
		began := time.Now()
		r.ok(nil, r.c.EmitNodeEvents(t.Context(), nodes, 3, "something broke"))
		if took := time.Since(began); took < 5*time.Second || took > 10*time.Second {
			t.Errorf("sent after %v, want 5 to 10 s", took)
		}
		r.want("three events on each of two nodes", r.entries(), "2 UpsertNodeEventsType\n")
		got := r.snap().NodeEvents(nodes[1])
		if last := got[len(got)-1]; last.Message != "something broke" || last.Timestamp != began.Unix() || len(got) != 4 {
			t.Errorf("events %+v, want the registration and three more", got)
		}
		if r.snap().NodeByID(nodes[1]).ModifyIndex != before {
			t.Error("events made the node look changed")
		}
		r.ok(nil, r.c.EmitNodeEvents(t.Context(), nodes, 30, "again"))
		r.want("as many as there may be", r.entries(), "2 UpsertNodeEventsType\n")
		if n := len(r.snap().NodeEvents(nodes[1])); n != 10 {
			t.Errorf("%d events kept, want 10", n)
		}
		if err := r.c.EmitNodeEvents(t.Context(), []string{"nobody"}, 1, "x"); err == nil {
			t.Error("a node that is not there reported events")
		}
	})
}
