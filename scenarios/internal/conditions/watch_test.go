package conditions

import (
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/rpc"
)

// TestQueueEmpty: what the leader's ticks put on the broker is no work of a job's.
func TestQueueEmpty(t *testing.T) {
	for _, c := range []struct {
		what  string
		stats broker.Stats
		want  bool
	}{
		{"nothing", broker.Stats{}, true},
		{"a job's evaluation", broker.Stats{Ready: 1, ByScheduler: map[string]broker.SchedulerStats{rpc.JobTypeSystem: {Ready: 1}}}, false},
		{"a tick that waits", broker.Stats{Ready: 1, ByScheduler: map[string]broker.SchedulerStats{rpc.JobTypeCore: {Ready: 1}}}, true},
		{"a tick with a worker", broker.Stats{Unacked: 1, ByScheduler: map[string]broker.SchedulerStats{rpc.JobTypeCore: {Unacked: 1}}}, true},
		{"a tick and a job's", broker.Stats{Unacked: 2, ByScheduler: map[string]broker.SchedulerStats{rpc.JobTypeCore: {Unacked: 1}}}, false},
		{"evaluations behind others", broker.Stats{Pending: 1}, false},
	} {
		s := Sample{Cluster: cluster.Stats{Leader: "s1", Broker: c.stats}}
		if got := s.queueEmpty(); got != c.want {
			t.Errorf("%s: empty %v, want %v", c.what, got, c.want)
		}
		s.Cluster.Leader = ""
		if s.queueEmpty() {
			t.Errorf("%s: empty without a leader", c.what)
		}
	}
}

// TestMoved: a phase moves with what it waits for, and not with the ticks of the leader.
func TestMoved(t *testing.T) {
	tick := func(s *Sample) {
		s.Cluster.LastIndex++
		s.Cluster.Account[0]++
		s.Cluster.Counters.EvalsCollected, s.Cluster.Counters.NodesCollected = 7, 0
		s.Cluster.Broker = broker.Stats{Ready: 1, ByScheduler: map[string]broker.SchedulerStats{rpc.JobTypeCore: {Ready: 1}}}
	}
	processed := func(s *Sample) { s.Cluster.Counters.EvalsProcessed++ }
	created := func(s *Sample) { s.Cluster.Counters.EvalsCreated++ }
	queued := func(s *Sample) { s.Cluster.Broker.Pending++ }
	ready := func(s *Sample) { s.Fleet.Ready++ }
	for _, c := range []struct {
		what   string
		until  Condition
		change func(*Sample)
		toCome bool // an event
		want   bool
	}{
		{"a tick and recovered", Recovered{}, tick, false, false},
		{"a tick and settled", Settled{}, tick, false, false},
		{"a tick and registered", Registered{}, tick, false, false},
		{"a tick and the queue", QueueDepth{}, tick, false, false},
		{"a tick and a count", EvalsCreated{}, tick, false, false},
		{"an event to come", Recovered{}, tick, true, true},
		{"work and recovered", Recovered{}, processed, false, true},
		{"work and the queue", QueueDepth{}, processed, false, false},
		{"work and a count", EvalsCreated{}, processed, false, false},
		{"an evaluation and a count", EvalsCreated{}, created, false, true},
		{"an evaluation and the queue", QueueDepth{}, queued, false, true},
		{"a client and registered", Registered{}, ready, false, true},
	} {
		first := Sample{At: time.Unix(0, 0)}
		w := NewWatch(first, c.until)
		w.EventsOver = !c.toCome
		next := Sample{At: first.At.Add(time.Minute)}
		c.change(&next)
		w.Add(next)
		if got := w.Moved.Equal(next.At); got != c.want {
			t.Errorf("%s: moved %v, want %v", c.what, got, c.want)
		}
	}
}

// TestSlow: the slowest of a hundred evaluations of the last window decides, and older ones count no more.
func TestSlow(t *testing.T) {
	start := time.Unix(0, 0)
	until := Slow{P99: time.Second, Window: 10 * time.Second}
	w := NewWatch(Sample{At: start}, until)
	for _, c := range []struct {
		at         int // seconds
		fast, slow int // evaluations that took 1 ms, and 2 s
		want       bool
	}{
		{0, 0, 0, false},
		{1, 100, 0, false},
		{2, 99, 1, false}, // 1 of 200
		{3, 0, 2, true},   // 3 of 202
		{12, 0, 0, true},  // 2 of 2
		{13, 0, 0, false}, // none
	} {
		s := Sample{At: start.Add(time.Duration(c.at) * time.Second)}
		for range c.fast {
			s.Responses = append(s.Responses, time.Millisecond)
		}
		for range c.slow {
			s.Responses = append(s.Responses, 2*time.Second)
		}
		w.Add(s)
		if _, ok := until.Met(w); ok != c.want {
			t.Errorf("after %d s: slow %v, want %v: %s", c.at, ok, c.want, until.Lacking(w))
		}
	}
	for _, bad := range []Slow{{}, {P99: time.Second}, {P99: -1, Window: time.Second}} {
		if bad.Check() == nil {
			t.Errorf("%+v was accepted", bad)
		}
	}
}

// TestSwing: a figure that goes up and down between the same values does not move, and one that
// rises or falls however slowly does.
func TestSwing(t *testing.T) {
	for what, c := range map[string]struct {
		figure func(minute int) int
		idle   bool // for an hour, at some time
	}{
		"a periodic job":              {func(m int) int { return m % 2 }, true},
		"a backlog that falls":        {func(m int) int { return 50_000 - 100*m }, false},
		"one that began with nothing": {func(m int) int { return max(0, min(m-5, 1)*(50_000-100*m)) }, false},
		"one that rises, with waves":  {func(m int) int { return m/10 + 30*(m%7) }, false},
		"one that comes to a halt":    {func(m int) int { return min(m, 90) }, true},
		"nothing":                     {func(int) int { return 0 }, true},
	} {
		first := Sample{At: time.Unix(0, 0)}
		first.Cluster.Broker.Pending = c.figure(0)
		w := NewWatch(first, QueueDepth{})
		w.EventsOver = true
		idle := false
		for m := 1; m <= 6*60; m++ {
			s := Sample{At: first.At.Add(time.Duration(m) * time.Minute)}
			s.Cluster.Broker.Pending = c.figure(m)
			w.Add(s)
			idle = idle || s.At.Sub(w.Moved) >= time.Hour
		}
		if idle != c.idle {
			t.Errorf("%s: idle for an hour: %v, want %v", what, idle, c.idle)
		}
	}
}
