package cluster

import (
	"fmt"
	"testing"
	"time"

	"github.com/simctl/simctl/internal/virtualtest"
)

// TestLongPlansMeetFaults: a plan or its answer that is on its way while either end dies, or is cut off for longer than leaders
// and callers wait, keeps neither end, and all that it asks for is placed once afterwards.
func TestLongPlansMeetFaults(t *testing.T) {
	const allocs = 600
	cut := func(r *rig, i int) (end func()) {
		return r.c.DisturbLinks(LinkFault{From: []string{r.c.Addr(i)}, Link: Link{Loss: 1}})
	}
	kill := func(r *rig, i int) (end func()) {
		r.ok(nil, r.c.StopServer(i))
		return func() { r.ok(nil, r.c.StartServer(i)) }
	}
	for _, tt := range []struct {
		name  string
		step  int // from the leader to whom it happens
		fault func(r *rig, i int) (end func())
	}{
		{"the leader dies", 0, kill},
		{"the worker's server dies", 1, kill},
		{"the leader is cut off", 0, cut},
		{"the worker's server is cut off", 1, cut},
	} {
		for _, after := range []time.Duration{time.Second, 3 * time.Second} { // the plan is on its way, its answer is
			t.Run(fmt.Sprintf("%s after %v", tt.name, after), func(t *testing.T) {
				virtualtest.Test(t, func(t *testing.T) {
					costs := Costs{
						Plan:       PlanCosts{PerForward: 3 * time.Millisecond, PerResult: 3 * time.Millisecond},
						ServerLink: Link{Latency: 10 * time.Millisecond},
					}
					r := newRig(t, 2, Config{Seed: 1, Costs: costs})
					r.fails = allTypes
					r.c.SetNumSchedulers(0)
					leader := r.c.Leader()
					r.c.server((leader + 1) % 3).SetSchedulers(1)
					time.Sleep(time.Second) // it asks
					r.ok(r.c.RegisterJob(t.Context(), serviceJob("svc", allocs, 0)))
					time.Sleep(after)
					end := tt.fault(r, (leader+tt.step)%3)
					time.Sleep(20 * time.Second)
					end()
					time.Sleep(10 * time.Second)
					r.c.SetNumSchedulers(1)
					time.Sleep(2 * time.Minute) // nodes that a new leader does not hear from have longer
					if n, b := len(r.live("svc")), r.c.Stats().Broker; n != allocs || b.Ready+b.Unacked+b.Pending > 0 {
						t.Errorf("%d allocations, want %d; the broker has %+v", n, allocs, b)
					}
					for i := range 3 {
						if r.c.State(i).Snapshot().Fingerprint() != r.snap().Fingerprint() {
							t.Errorf("%s has another state than the leader", r.c.Addr(i))
						}
					}
				})
			})
		}
	}
}
