package leader

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/simctl/simctl/cluster/internal/config"
	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/internal/virtualtest"
)

// expiries are the nodes whose timers fired.
type expiries struct {
	mu    sync.Mutex
	nodes []string
}

func (e *expiries) add(_ context.Context, id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.nodes = append(e.nodes, id)
}

// take returns them sorted, and forgets them.
func (e *expiries) take() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	defer func() { e.nodes = nil }()
	slices.Sort(e.nodes)
	return strings.Join(e.nodes, " ")
}

var someHeartbeats = config.HeartbeatConfig{MinTTL: 10 * time.Second, MaxPerSecond: 2, Grace: 5 * time.Second, FailoverTTL: 300 * time.Second}

// TestHeartbeatsOfANewLeader: it waits longer for each node that may still speak up, and for no
// other.
func TestHeartbeatsOfANewLeader(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		var e expiries
		h := NewHeartbeats(someHeartbeats, 1, e.add)
		if _, ok := h.Reset("a"); ok || h.Active() != 0 {
			t.Error("a server that does not lead grants a time to live")
		}
		h.Start(t.Context(), []*rpc.Node{
			{ID: "ready", Status: rpc.NodeStatusReady}, {ID: "down", Status: rpc.NodeStatusDown}, {ID: "away", Status: rpc.NodeStatusDisconnected},
			{ID: "new", Status: rpc.NodeStatusInit},
		})
		if h.Active() != 3 {
			t.Errorf("%d nodes are tracked, want 3", h.Active())
		}
		time.Sleep(300*time.Second - 1)
		if got := e.take(); got != "" {
			t.Errorf("%s expired early", got)
		}
		time.Sleep(2 * time.Millisecond)
		if got := e.take(); got != "away new ready" || h.Active() != 0 {
			t.Errorf("%q expired, and %d nodes are tracked", got, h.Active())
		}
		h.Start(t.Context(), []*rpc.Node{{ID: "a"}, {ID: "b"}})
		h.Clear("b")
		h.Clear("unknown")
		if h.Active() != 1 {
			t.Errorf("%d nodes are tracked after one was cleared, want 1", h.Active())
		}
		began := time.Now()
		if h.Stop(); time.Since(began) > 0 {
			t.Errorf("it waited for %v to stop", time.Since(began))
		}
		time.Sleep(time.Hour)
		if _, ok := h.Reset("a"); ok || h.Active() != 0 || e.take() != "" {
			t.Error("a table that was stopped tracks nodes")
		}
	})
}

// TestHeartbeatTTLs: a node is down when nothing was heard for its time to live and the grace,
// counted from the last time; the times are spread, and longer the more nodes there are.
func TestHeartbeatTTLs(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		var e expiries
		h := NewHeartbeats(someHeartbeats, 1, e.add)
		h.Start(t.Context(), nil)
		defer h.Stop()
		for range 3 {
			ttl, ok := h.Reset("a")
			if !ok || ttl < 10*time.Second || ttl >= 20*time.Second {
				t.Fatalf("a time to live of %v, want 10 s to 20 s", ttl)
			}
			time.Sleep(ttl + 5*time.Second - 1)
			if got := e.take(); got != "" || h.Active() != 1 {
				t.Fatalf("%q expired early, and %d are tracked", got, h.Active())
			}
		}
		time.Sleep(2 * time.Nanosecond)
		if got := e.take(); got != "a" || h.Active() != 0 {
			t.Errorf("%q expired, and %d are tracked", got, h.Active())
		}
		different := map[time.Duration]bool{}
		var first, last time.Duration
		for i := range 100 {
			ttl, _ := h.Reset(fmt.Sprint(i))
			if i == 0 {
				first = ttl
			}
			last = ttl
			different[ttl] = true
		}
		if first >= 20*time.Second || last < 49500*time.Millisecond || last >= 99*time.Second || len(different) < 95 {
			t.Errorf("times to live from %v to %v, %d different ones: want them to grow with the nodes, and spread", first, last, len(different))
		}
	})
}

// TestHeardTooLate: a node that is heard from when its timer has fired, and before that could say so,
// has two timers to say so, and stopping waits for both.
func TestHeardTooLate(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		var e expiries
		h := NewHeartbeats(someHeartbeats, 1, e.add)
		h.Start(t.Context(), nil)
		h.Reset("a")
		h.timers["a"].Stop() // as if it had fired, and waited for the lock
		h.Reset("a")
		stopped := make(chan time.Time)
		go func() {
			h.Stop()
			stopped <- time.Now()
		}()
		time.Sleep(time.Minute)
		late := time.Now()
		h.joined.Done() // it has got the lock
		if at := <-stopped; at.Before(late) {
			t.Errorf("stopped %v before both timers were done", late.Sub(at))
		}
		if got := e.take(); got != "" {
			t.Errorf("%q expired after the end", got)
		}
	})
}

// TestForgottenAsItFires: a node that is forgotten when its timer has fired, and before that could say
// so, does not expire.
func TestForgottenAsItFires(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		var e expiries
		h := NewHeartbeats(someHeartbeats, 1, e.add)
		h.Start(t.Context(), nil)
		h.Reset("a")
		h.mu.Lock()
		delete(h.timers, "a") // as Clear does, which comes too late for the timer
		h.mu.Unlock()
		time.Sleep(time.Minute)
		if got := e.take(); got != "" {
			t.Errorf("%q expired", got)
		}
		h.Stop()
	})
}

// TestCheckPeriodic: which jobs can be launched again and again.
func TestCheckPeriodic(t *testing.T) {
	for _, c := range []struct {
		job  rpc.Job
		want string
	}{
		{rpc.Job{ID: "j", Type: rpc.JobTypeService}, ""},
		{rpc.Job{ID: "j", Type: rpc.JobTypeBatch, Periodic: &rpc.PeriodicConfig{Every: time.Second}}, ""},
		{rpc.Job{ID: "j", Type: rpc.JobTypeSysBatch, Periodic: &rpc.PeriodicConfig{Every: time.Hour}}, ""},
		{rpc.Job{ID: "j", Type: rpc.JobTypeService, Periodic: &rpc.PeriodicConfig{Every: time.Hour}}, "only batch and sysbatch"},
		{rpc.Job{ID: "j", Type: rpc.JobTypeBatch, Periodic: &rpc.PeriodicConfig{Every: time.Second - 1}}, "one second is the least"},
		{rpc.Job{ID: "j" + fsm.LaunchSuffix + "1", Type: rpc.JobTypeBatch, Periodic: &rpc.PeriodicConfig{Every: time.Hour}}, "cannot be periodic itself"},
	} {
		if err := CheckPeriodic(&c.job); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.job, err, c.want)
		}
	}
}
