package scenarios

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/metrics"
)

// Bounds of a phase that names none.
const (
	defaultStall   = time.Hour
	defaultTimeout = 30 * 24 * time.Hour
)

// errStalled is what a phase that never ended fails with.
var errStalled = errors.New("the phase did not end")

// phase runs one phase: begins it, lets its events happen, samples until its condition has
// held long enough, and ends it.
func (r *run) phase(i int) error {
	p := r.sc.Phases[i]
	first := r.sample()
	w := newWatch(first)
	r.losses = newLosses(first.at, r.leaderState())
	r.rec.BeginPhase(p.Name, first.at, counters(first.cluster))
	r.say(i, w, true)

	events := make(chan error, 1)
	go func() { events <- r.events(p) }()
	err := r.watch(i, w, events)
	if !w.eventsDone {
		err = errors.Join(err, <-events) // they end with the run's context, or by themselves
	}
	if r.ctx.Err() != nil {
		return r.ctx.Err()
	}
	last := r.sample()
	r.rec.EndPhase(last.at, counters(last.cluster), metrics.PhaseEnd{
		QueueEmptyS:       w.secondsOf(w.queueEmpty),
		RecoveryS:         w.secondsOf(recovery(w, p.Until)),
		AllocsReplacedS:   r.losses.seconds(),
		RaftEntriesByType: r.cluster.EntriesBetween(first.cluster.LastIndex, last.cluster.LastIndex),
		RaftAccount:       account(first.cluster.Account, last.cluster.Account),
		EvalsByStatus:     last.cluster.EvalsByStatus,
	})
	w.last = last
	r.say(i, w, true)
	if err != nil {
		return fmt.Errorf("phase %s: %w", p.Name, err)
	}
	switch p.Until.(type) {
	case Recovered, Settled:
		// After the last it is checked with everything else; on the wall clock only then, since
		// the cluster does not stand still for it.
		if i < len(r.sc.Phases)-1 && r.spec.Clock != ClockWall {
			r.checkPlacement(p.Name, r.leaderState(), r.cluster.BlockedSince())
		}
	}
	return nil
}

// watch samples until the phase is over.
func (r *run) watch(i int, w *watch, events <-chan error) error {
	p := r.sc.Phases[i]
	stall, timeout := r.bound(p.Stall, defaultStall), r.bound(p.Timeout, defaultTimeout)
	// Neither are samples taken at the instants of events, nor do events move them: which of
	// two comes first at one instant is the runtime's choice.
	timer := time.NewTimer(r.period(0) + sampleShift)
	defer timer.Stop()
	for ; ; timer.Reset(r.period(time.Since(w.start))) {
		if err := r.untilSample(timer.C, w, &events); err != nil {
			return err
		}
		s := r.sample()
		w.add(s)
		r.losses.see(s.at, r.leaderState())
		r.say(i, w, false)
		since, ok := p.Until.met(w)
		if ok && w.eventsDone && s.at.Sub(since) >= p.Until.hold() {
			return nil
		}
		if idle := s.at.Sub(w.moved); idle >= stall {
			return fmt.Errorf("%w: nothing has moved for %v, and %s", errStalled, idle.Round(time.Second), p.Until.lacking(w))
		}
		if took := s.at.Sub(w.start); took >= timeout {
			return fmt.Errorf("%w within %v: %s", errStalled, took.Round(time.Second), p.Until.lacking(w))
		}
	}
}

// untilSample waits until a sample is due, and takes note if the phase's events end before
// that; events is nil once they have.
func (r *run) untilSample(due <-chan time.Time, w *watch, events *<-chan error) error {
	for {
		select {
		case <-due:
			return nil
		case <-r.ctx.Done():
			return r.ctx.Err()
		case err := <-*events:
			w.eventsDone = true
			*events = nil
			if err != nil {
				return err
			}
		}
	}
}

func (r *run) bound(d, otherwise time.Duration) time.Duration {
	if d == 0 {
		return r.sc.scaleOf(otherwise)
	}
	return d
}

// period is the time from one sample to the next: a two-hundredth of the phase so far, so
// that times are known to 0.5%, but 0.1 s at least and 1 s at most.
func (r *run) period(elapsed time.Duration) time.Duration {
	return min(max(elapsed/200, r.sc.scaleOf(100*time.Millisecond)), r.sc.scaleOf(time.Second))
}

func (a RegisterJobs) Mark() string {
	return fmt.Sprintf("%s registered", plural(len(a.Jobs), "job"))
}

func (a RegisterJobs) do(r *run) error {
	for _, job := range a.Jobs {
		if _, err := r.cluster.RegisterJob(r.ctx, r.sc.scaledJob(job)); err != nil {
			return fmt.Errorf("register job %s: %w", job.ID, err)
		}
	}
	return nil
}

func (StartClients) Mark() string { return "clients start" }

func (StartClients) do(r *run) error {
	r.fleet.Start(r.ctx)
	return nil
}

func (a SetSchedulers) Mark() string {
	if a.PerServer == 0 {
		return "schedulers off"
	}
	return fmt.Sprintf("schedulers on: %d a server", a.PerServer)
}

// do does not wait for workers that must finish what they have in hand: what keeps them from
// it may be a fault, which the events have yet to end. A later change waits for this one.
func (a SetSchedulers) do(r *run) error {
	before, done := r.reloaded, make(chan struct{})
	r.reloaded = done
	go func() {
		defer close(done)
		if before != nil {
			<-before
		}
		r.cluster.SetNumSchedulers(a.PerServer)
	}()
	return nil
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// sample looks at everything and records the series.
func (r *run) sample() sample {
	s := sample{at: time.Now(), cluster: r.cluster.Stats(), fleet: r.fleet.Stats(), fleetErr: r.fleet.LastError()}
	// A new leader's log may end before the old one's did; the count goes on from there.
	if s.cluster.LastIndex > r.index {
		for kind, n := range r.cluster.EntriesBetween(r.index, s.cluster.LastIndex) {
			r.entries[kind] += n
		}
		r.index = s.cluster.LastIndex
	}
	s.cluster.LastIndex = r.index
	c := s.cluster
	gauge := func(name, unit string, value float64) { r.rec.Gauge(name, unit, s.at, value) }
	gauge(metrics.SeriesReady, "evaluations", float64(c.Broker.Ready))
	gauge(metrics.SeriesUnacked, "evaluations", float64(c.Broker.Unacked))
	gauge(metrics.SeriesPending, "evaluations", float64(c.Broker.Pending))
	gauge(metrics.SeriesWaiting, "evaluations", float64(c.Broker.Waiting))
	gauge(metrics.SeriesCancelable, "evaluations", float64(c.Broker.Cancelable))
	gauge(metrics.SeriesRaftIndex, "entries", float64(c.LastIndex))
	gauge(metrics.SeriesCompleted, "evaluations", completedSoFar(c))
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
	for _, kind := range slices.Sorted(maps.Keys(r.entries)) {
		gauge(metrics.SeriesEntriesPrefix+kind, "entries", float64(r.entries[kind]))
	}
	return s
}

func (r *run) say(i int, w *watch, now bool) {
	p, s := r.sc.Phases[i], w.last
	b := s.cluster.Broker
	r.teller.say(r.world.Wall(), now, Progress{
		Phase: p.Name, PhaseIndex: i, Phases: len(r.sc.Phases),
		VirtualS: s.at.Sub(r.start).Seconds(),
		Pending:  b.Ready + b.Unacked + b.Pending, Cancelable: b.Cancelable,
		StatePending: s.cluster.StatePending, RaftIndex: s.cluster.LastIndex,
		Nodes: s.cluster.NodesByStatus, Done: p.Until.done(w),
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

// completedSoFar counts the evaluations that were ever completed: what is in state and over,
// or was and has been collected, but for those that were canceled or failed.
func completedSoFar(c cluster.Stats) float64 {
	held := c.EvalsByStatus[broker.StatusComplete] + c.EvalsByStatus[broker.StatusCanceled] + c.EvalsByStatus[broker.StatusFailed]
	return float64(held+c.Counters.EvalsCollected) - float64(c.Counters.EvalsCanceled+c.Counters.EvalsFailed)
}
