package cluster

import (
	"fmt"
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/internal/pacer"
	"github.com/simctl/simctl/internal/virtualtest"
)

// TestMonitorAsks: who watches asks for one number while the log grows, at times, and for all of them once it rests, until
// they stay as they are.
func TestMonitorAsks(t *testing.T) {
	var m monitor
	for i, look := range []struct {
		index    uint64
		working  bool
		canceled uint64
		resting  bool // from asking
		want     int
	}{
		{index: 10, want: len(broker.Statuses)}, // the first look
		{index: 10, want: 0},                    // nothing has changed
		{index: 11, want: 1},
		{index: 12, resting: true, want: 0},
		{index: 12, working: true, resting: true, want: 0}, // the log will go on
		{index: 12, canceled: 5, resting: true, want: len(broker.Statuses)},
		{index: 12, canceled: 5, resting: true, want: len(broker.Statuses)}, // they had changed
		{index: 12, canceled: 5, want: 0},
		{index: 13, canceled: 5, want: 1},
		{index: 13, canceled: 5, want: len(broker.Statuses)},
		{index: 13, canceled: 5, want: 0}, // they had not
	} {
		if m.pace = (pacer.Pacer{Share: 1}); look.resting {
			m.pace.Asked(time.Now().Add(-time.Minute))
		}
		byStatus := func() map[string]uint64 { return map[string]uint64{broker.StatusCanceled: look.canceled} }
		if got := m.asks(look.index, look.working, byStatus); got != look.want {
			t.Errorf("look %d: asks %d times, want %d", i+1, got, look.want)
		}
	}
}

// TestMonitorTakesTime: to watch a cluster takes its cores' time, and as long as they take for it. A leader that was slow to
// count is not asked again at once, and one that cannot count never.
func TestMonitorTakesTime(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		what  string
		costs MonitoringCosts
		old   bool             // a release that cannot count
		want  [3]time.Duration // of looks with one, two and three evaluations in state, the log growing
	}{
		{"not watched", MonitoringCosts{}, false, [3]time.Duration{}},
		{"simctl's own time", MonitoringCosts{Base: 7 * ms, PerNode: ms}, false, [3]time.Duration{9 * ms, 9 * ms, 9 * ms}},
		{"counting", MonitoringCosts{PerEval: ms}, false, [3]time.Duration{5 * ms, 2 * ms, 3 * ms}},
		{"counting after a rest", MonitoringCosts{PerEval: ms, Rests: 450}, false, [3]time.Duration{5 * ms, 0, 3 * ms}}, // 0.45 s after the first, and then 0.9
		{"servers that cannot count", MonitoringCosts{Base: ms, PerEval: ms}, true, [3]time.Duration{ms, ms, ms}},
	} {
		t.Run(tt.what, func(t *testing.T) {
			virtualtest.Test(t, func(t *testing.T) {
				r := newRig(t, 2, Config{Seed: 1, Costs: Costs{Cores: 4, Monitoring: tt.costs}, Habits: Habits{CountsEvals: !tt.old}})
				r.c.SetNumSchedulers(0)
				for i, want := range tt.want {
					r.ok(r.c.RegisterJob(t.Context(), serviceJob(fmt.Sprint("svc", i), 1, 0)))
					time.Sleep(300 * ms)
					before, _ := r.c.cpuTime()
					began := time.Now()
					r.c.Monitor()
					after, _ := r.c.cpuTime()
					if took, spent := time.Since(began).Round(ms), (after - before).Round(ms); took != want || spent != want {
						t.Errorf("look %d took %v and %v of CPU time, want %v", i+1, took, spent, want)
					}
				}
			})
		})
	}
}
