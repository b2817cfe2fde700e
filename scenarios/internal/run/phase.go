package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/scenarios/internal/conditions"
	"github.com/simctl/simctl/scenarios/internal/judge"
)

// Bounds of a phase that sets none.
const (
	defaultStall   = time.Hour
	DefaultTimeout = 30 * 24 * time.Hour
)

// errStalled is wrapped by the error of a phase that did not end.
var errStalled = errors.New("the phase did not end")

// phase runs one phase: it begins the phase and its events, samples until the condition has
// held long enough, and ends it.
func (r *run) phase(i int) error {
	p := r.sc.Phases[i]
	first := r.sample()
	counted := first.Cluster // up to here by the phase before: a sample takes time if the cluster's cores do
	if i > 0 {
		counted = r.counted
	}
	w := conditions.NewWatch(first, p.Until, r.stall(p))
	if r.sim != nil {
		snap := r.sim.latest()
		r.losses = judge.NewLosses(first.At, snap)
		r.deployments.See(first.At, snap)
		r.deployments.BeginPhase()
	}
	r.rec.BeginPhase(p.Name, first.At, counters(counted))
	r.say(i, w, true)

	events := make(chan error, 1)
	go func() { events <- r.events(p) }()
	err := r.watch(i, w, events)
	if err != nil {
		r.breakOff()
	}
	if !w.EventsOver {
		if eventsErr := <-events; !errors.Is(eventsErr, context.Canceled) {
			err = errors.Join(err, eventsErr)
		}
	}
	if r.ctx.Err() != nil {
		return r.ctx.Err()
	}
	err = r.brokenOff(err)
	last := r.sample()
	r.counted = last.Cluster
	end := metrics.PhaseEnd{
		QueueEmptyS:       w.SecondsOf(w.QueueEmpty),
		RecoveryS:         w.SecondsOf(conditions.Recovery(p.Until, w)),
		RaftEntriesByType: r.system.EntriesBetween(counted.LastIndex, last.Cluster.LastIndex),
		EvalsByStatus:     last.Cluster.EvalsByStatus,
	}
	if r.sim != nil {
		end.AllocsReplacedS, end.DeploymentS = r.losses.Seconds(), r.deployments.Seconds()
		end.RaftAccount = account(counted.Account, last.Cluster.Account)
	}
	r.rec.EndPhase(last.At, counters(last.Cluster), end)
	w.Last = last
	r.say(i, w, true)
	if err != nil {
		return fmt.Errorf("phase %s: %w", p.Name, err)
	}
	// The last phase is followed by all checks. The wall clock has only those, since the cluster
	// goes on while the oracle looks.
	if _, ok := p.Until.(conditions.Quiescence); ok && i < len(r.sc.Phases)-1 && r.sim != nil && !r.sc.wall() {
		r.checkOracle(p.Name, r.sim.latest(), r.sim.Waiting())
	}
	return nil
}

// watch samples until the phase is over.
func (r *run) watch(i int, w *conditions.Watch, events <-chan error) error {
	p := r.sc.Phases[i]
	stall, timeout := r.stall(p), cmp.Or(p.Timeout, r.scaled(DefaultTimeout))
	// Samples and events fall on different instants: of two at one instant the Go runtime chooses
	// which comes first.
	timer := time.NewTimer(r.period(0) + sampleShift)
	defer timer.Stop()
	for ; ; timer.Reset(r.period(time.Since(w.Start))) {
		if err := r.untilSample(timer.C, w, &events); err != nil {
			return err
		}
		s, err := r.look()
		if err != nil {
			return err
		}
		asking := r.asking.Load()
		w.Asking = asking != nil
		w.Add(s)
		r.say(i, w, false)
		since, ok := w.Met()
		if ok && w.EventsOver && s.At.Sub(since) >= p.Until.Hold() {
			return nil
		}
		if err := r.withinLimits(); err != nil {
			return err
		}
		if idle := w.Idle(); !ok && idle >= stall {
			err := fmt.Errorf("%w: it has come no nearer to its end for %v: %s", errStalled, idle.Round(time.Second), p.Until.Lacking(w))
			if r.sim != nil {
				if n, far := judge.Deploying(r.sim.latest()); n > 0 {
					err = fmt.Errorf("%w (%s)", err, far)
				}
			}
			if asking != nil {
				err = fmt.Errorf("%w; no leader has answered the event %q", err, *asking)
			}
			return err
		}
		if took := s.At.Sub(w.Start); took >= timeout {
			return fmt.Errorf("%w within %v: %s", errStalled, took.Round(time.Second), p.Until.Lacking(w))
		}
	}
}

// stall returns how long a phase may be idle.
func (r *run) stall(p Phase) time.Duration {
	return cmp.Or(p.Stall, r.scaled(defaultStall)+r.longestTTL())
}

// longestTTL is about the longest time that servers grant between two heartbeats of a client. After clients
// have gone, nothing may happen for that long.
func (r *run) longestTTL() time.Duration {
	return time.Duration(float64(r.sc.Fleet.Nodes) / r.sc.Cluster.Heartbeat.MaxPerSecond * float64(time.Second))
}

// untilSample waits until a sample is due. It sets events to nil when the phase's events are
// over.
func (r *run) untilSample(due <-chan time.Time, w *conditions.Watch, events *<-chan error) error {
	for {
		select {
		case <-due:
			return nil
		case <-r.ctx.Done():
			return r.ctx.Err()
		case err := <-*events:
			w.EventsOver = true
			*events = nil
			if err != nil {
				return err
			}
		}
	}
}

// period is the time from one sample to the next: a two-hundredth of the phase so far, which
// gives times to 0.5%, but at least 0.1 s and at most 1 s. A real cluster renews its figures once
// a second, as does one that is watched as if it were real.
func (r *run) period(elapsed time.Duration) time.Duration {
	switch {
	case r.sim == nil && r.other == nil:
		return time.Second
	case r.sc.Cluster.Costs.Monitoring != (cluster.MonitoringCosts{}):
		return r.scaled(time.Second)
	}
	return min(max(elapsed/200, r.scaled(100*time.Millisecond)), r.scaled(time.Second))
}

// look is sample, and a look into the cluster if it is simulated.
func (r *run) look() (conditions.Sample, error) {
	s := r.sample()
	if r.sim == nil {
		return s, nil
	}
	if err := r.sim.StorageError(); err != nil {
		return s, elsewhere(err)
	}
	snap := r.sim.latest()
	r.losses.See(s.At, snap)
	r.deployments.See(s.At, snap)
	s.Deploying, s.Responses = r.deployments.UnderWay(), r.obs.Responses()
	return s, nil
}

// sample looks at cluster and fleet and records the series.
func (r *run) sample() conditions.Sample {
	r.world.Alive()
	at := time.Now() // when the sample begins, as with real servers, which take a while to answer
	if r.sim != nil {
		r.sim.Monitor()
	}
	s := conditions.Sample{At: at, Cluster: r.system.Stats(), Fleet: r.stage.Fleet.Stats(), FleetErr: r.stage.Fleet.LastError()}
	// A new leader's log may end before the old one's did; the count goes on from there.
	if s.Cluster.LastIndex > r.index {
		for kind, n := range r.system.EntriesBetween(r.index, s.Cluster.LastIndex) {
			r.entries[kind] += n
		}
		r.index = s.Cluster.LastIndex
	}
	s.Cluster.LastIndex = r.index
	c := s.Cluster
	gauge := func(name, unit string, value float64) {
		if r.sim != nil || !math.IsNaN(value) { // of a real cluster nobody may be able to tell
			r.rec.Gauge(name, unit, s.At, value)
		}
	}
	gauge(metrics.SeriesReady, "evaluations", float64(c.Broker.Ready))
	gauge(metrics.SeriesUnacked, "evaluations", float64(c.Broker.Unacked))
	gauge(metrics.SeriesPending, "evaluations", float64(c.Broker.Pending))
	gauge(metrics.SeriesWaiting, "evaluations", float64(c.Broker.Waiting))
	gauge(metrics.SeriesCancelable, "evaluations", float64(c.Broker.Cancelable))
	gauge(metrics.SeriesRaftIndex, "entries", float64(c.LastIndex))
	gauge(metrics.SeriesCompleted, "evaluations", r.completedSoFar(c))
	gauge(metrics.SeriesCanceled, "evaluations", float64(c.Counters.EvalsCanceled))
	gauge(metrics.SeriesFailed, "evaluations", float64(c.Counters.EvalsFailed))
	gauge(metrics.SeriesNodesReady, "nodes", float64(c.NodesByStatus[rpc.NodeStatusReady]))
	gauge(metrics.SeriesNodesDown, "nodes", float64(c.NodesByStatus[rpc.NodeStatusDown]))
	gauge(metrics.SeriesNodesInit, "nodes", float64(c.NodesByStatus[rpc.NodeStatusInit]))
	gauge(metrics.SeriesNodesDisconnected, "nodes", float64(c.NodesByStatus[rpc.NodeStatusDisconnected]))
	gauge(metrics.SeriesHeartbeats, "timers", float64(c.HeartbeatsActive))
	gauge(metrics.SeriesPlanQueue, "plans", float64(c.PlanQueueDepth))
	gauge(metrics.SeriesCPU, "1", c.CPUUtilisation)
	gauge(metrics.SeriesWorkers, "1", c.WorkerUtilisation)
	if r.inside() == nil {
		gauge(metrics.SeriesStolen, "1", c.CPUStolen)
	}
	if c.MemoryRead > 0 {
		gauge(metrics.SeriesMemoryRead, "ns", float64(c.MemoryRead))
	}
	for _, kind := range slices.Sorted(maps.Keys(r.entries)) {
		gauge(metrics.SeriesEntriesPrefix+kind, "entries", float64(r.entries[kind]))
	}
	return s
}

func (r *run) say(i int, w *conditions.Watch, now bool) {
	p, s := r.sc.Phases[i], w.Last
	b := s.Cluster.Broker
	var queues map[string]int
	if b.ByScheduler != nil {
		queues = map[string]int{"ready": b.Ready, "unacked": b.Unacked, "pending": b.Pending, "cancelable": b.Cancelable}
	}
	r.teller.say(r.world.Wall(), now, Progress{
		Phase: p.Name, PhaseIndex: i, Phases: len(r.sc.Phases),
		VirtualS: s.At.Sub(r.start).Seconds(),
		Pending:  b.Ready + b.Unacked + b.Pending, Cancelable: b.Cancelable,
		StatePending: s.Cluster.StatePending, RaftIndex: s.Cluster.LastIndex,
		Nodes: s.Cluster.NodesByStatus, Done: p.Until.Progress(w), Leader: s.Cluster.Leader, Queues: queues,
	})
}

func counters(s cluster.Stats) metrics.Counters {
	c := s.Counters
	return metrics.Counters{
		LastIndex: s.LastIndex, EvalsCreated: c.EvalsCreated, EvalsProcessed: c.EvalsProcessed, EvalsCanceled: c.EvalsCanceled,
		PlansSubmitted: c.PlansSubmitted, NodesDown: c.NodesDown, MissedHeartbeats: c.MissedHeartbeats,
	}
}

// account says what a stretch of a run should have cost the log, by what happened in it.
func account(before, after cluster.Account) []metrics.Expectation {
	var lines []metrics.Expectation
	for _, e := range after.Since(before) {
		lines = append(lines, metrics.Expectation(e))
	}
	return lines
}

// completedSoFar counts the evaluations that were ever completed: those in the state that are over, and those that were
// collected, less all that were canceled or failed. If a follower is the first to apply an entry, the evaluations
// that it cancels are counted while the leader's state lacks them. So the number must not fall below the last one.
func (r *run) completedSoFar(c cluster.Stats) float64 {
	held := c.EvalsByStatus[broker.StatusComplete] + c.EvalsByStatus[broker.StatusCanceled] + c.EvalsByStatus[broker.StatusFailed]
	r.completed = max(r.completed, float64(held+c.Counters.EvalsCollected)-float64(c.Counters.EvalsCanceled+c.Counters.EvalsFailed))
	return r.completed
}
