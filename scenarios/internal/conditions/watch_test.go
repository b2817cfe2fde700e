package conditions

import (
	"math/rand/v2"
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
	many := 100
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
		{"a tick and the queue", QueueDepth{AtLeast: &many}, tick, false, false},
		{"a tick and a count", EvalsCreated{AtLeast: many}, tick, false, false},
		{"an event to come", Recovered{}, tick, true, true},
		{"work and recovered", Recovered{}, processed, false, true},
		{"work and the queue", QueueDepth{AtLeast: &many}, processed, false, false},
		{"work and a count", EvalsCreated{AtLeast: many}, processed, false, false},
		{"an evaluation and a count", EvalsCreated{AtLeast: many}, created, false, true},
		{"an evaluation and the queue", QueueDepth{AtLeast: &many}, queued, false, true},
		{"a client and registered", Registered{}, ready, false, true},
	} {
		first := Sample{At: time.Unix(0, 0)}
		w := NewWatch(first, c.until, time.Hour)
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
	w := NewWatch(Sample{At: start}, until, time.Hour)
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

// TestNearing: a phase that comes no nearer to its end is idle, however much goes on, and one that
// comes nearer is not, however slowly.
func TestNearing(t *testing.T) {
	const stall = time.Hour
	random := rand.New(rand.NewPCG(1, 2))
	many, few := 1_000_000, 10
	up, down := QueueDepth{AtLeast: &many}, QueueDepth{AtMost: &few, For: 10 * time.Minute}
	pending := func(s *Sample, n int) { s.Cluster.Broker.Pending = n }
	open := func(s *Sample, n int) {
		s.Cluster.StatePending, s.Cluster.Counters.EvalsProcessed = n, s.Cluster.Counters.EvalsProcessed+1
	}
	for _, c := range []struct {
		what   string
		until  Condition
		set    func(*Sample, int)
		figure func(minute int) int
		idle   bool // at some time in two days
	}{
		{"a periodic job", up, pending, func(m int) int { return m % 2 }, true},
		{"nodes that flap", up, pending, func(int) int { return random.IntN(50) }, true},
		{"nodes that flap, many", up, pending, func(int) int { return int(20_000 + 5_000*random.NormFloat64()) }, true},
		{"nodes that flap beside a backlog", down, pending, func(int) int { return 1_000 + random.IntN(500) }, true},
		{"a backlog that grows and flaps", down, pending, func(m int) int { return 10*m + random.IntN(500) }, true},
		{"a backlog that falls", down, pending, func(m int) int { return 500_000 - 100*m }, false},
		{"one that falls and flaps", down, pending, func(m int) int { return 500_000 - 100*m + random.IntN(1_000) }, false},
		{"one that began with nothing", down, pending, func(m int) int { return max(0, min(m-5, 1)*(500_000-100*m)) }, false},
		{"one that rises, with waves", up, pending, func(m int) int { return m/10 + 30*(m%7) }, false},
		{"one that comes to a halt", up, pending, func(m int) int { return min(m, 90) }, true},
		{"one that is low for five minutes at a time", down, pending, func(m int) int { return 100 * min(m%30/5, 1) }, true},
		{"one that is low for a minute longer each hour", down, pending, func(m int) int { return 100 * min(m%60/(m/60+1), 1) }, false},
		{"nothing", up, pending, func(int) int { return 0 }, true},
		{"work without end", Recovered{}, open, func(int) int { return 1 + random.IntN(50) }, true},
		{"work on a backlog", Recovered{}, open, func(m int) int { return 500_000 - 100*m }, false},
		{"work for less than a day", Recovered{}, open, func(m int) int { return max(0, 20*60-m) }, false},
	} {
		first := Sample{At: time.Unix(0, 0), Cluster: cluster.Stats{Leader: "s1"}}
		c.set(&first, c.figure(0))
		w := NewWatch(first, c.until, stall)
		w.EventsOver = true
		idle := false
		for m, s := 1, first; m <= 48*60 && !idle; m++ {
			s.At = first.At.Add(time.Duration(m) * time.Minute)
			c.set(&s, c.figure(m))
			w.Add(s)
			since, ok := w.Met()
			idle = !ok && w.Idle() >= stall
			if ok && w.Last.At.Sub(since) >= c.until.Hold() {
				break
			}
		}
		if idle != c.idle {
			t.Errorf("%s: idle %v, want %v", c.what, idle, c.idle)
		}
	}
}
