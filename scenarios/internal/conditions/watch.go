package conditions

import (
	"math"
	"slices"
	"time"

	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/nodesim"
)

// Sample is cluster and fleet at one instant.
type Sample struct {
	At       time.Time
	Cluster  cluster.Stats
	Fleet    nodesim.Stats
	FleetErr error // the clients' latest
	// Deploying is the number of deployments under way.
	Deploying int
	// Responses is how long each evaluation took that was acked since the sample before.
	Responses []time.Duration
}

// queueEmpty reports whether the workers have nothing to do for any job; without a leader
// nobody can know, and it is false. The leader's ticks of garbage collection do not count: a
// sample that meets one by chance would end no phase.
func (s Sample) queueEmpty() bool {
	return s.Cluster.Leader != "" && s.jobsEvals() == 0
}

// jobsEvals returns how many evaluations of jobs the broker holds for workers.
func (s Sample) jobsEvals() int {
	b := s.Cluster.Broker
	core := b.ByScheduler[rpc.JobTypeCore]
	return b.Ready - core.Ready + b.Unacked - core.Unacked + b.Pending
}

// recovered reports whether nothing is left to do or to write off.
func (s Sample) recovered() bool {
	return s.queueEmpty() && s.Cluster.Broker.Cancelable == 0 && s.Cluster.StatePending == 0
}

// allDown reports whether the servers know of every stopped client that it is gone.
func (s Sample) allDown() bool {
	return s.gone() >= s.Fleet.Stopped
}

func (s Sample) gone() int {
	return s.Cluster.NodesByStatus[rpc.NodeStatusDown] + s.Cluster.NodesByStatus[rpc.NodeStatusDisconnected] +
		int(s.Cluster.Counters.NodesCollected)
}

// known reports whether the servers know every client as it is.
func (s Sample) known() bool {
	return s.Fleet.Ready == s.Fleet.Running && s.Cluster.NodesByStatus[rpc.NodeStatusReady] == s.Fleet.Running && s.allDown()
}

// Span follows a condition over samples: since when it has held without a break.
type Span struct {
	Since time.Time
	Holds bool
}

func (s *Span) see(at time.Time, holds bool) {
	if holds && !s.Holds {
		s.Since = at
	}
	s.Holds = holds
}

// and returns the span in which both hold.
func (s Span) and(o Span) Span { return Span{later(s.Since, o.Since), s.Holds && o.Holds} }

// Watch is what the samples of one phase have shown so far.
type Watch struct {
	Start      time.Time
	Last       Sample
	EventsOver bool      // the phase's events are over
	Asking     bool      // an event has asked for something and waits for the answer
	Moved      time.Time // when the phase last came nearer to its end, or an event was still to come
	QueueEmpty Span      // workers have nothing to do

	recent    []response    // of the last span, if the condition looks back
	span      time.Duration // zero: it does not
	until     Condition
	held      time.Duration     // the longest that the condition has held so far
	moves     func(Sample) bool // whether the phase has come nearer to its end since the last sample
	recovered Span
	ready     Span      // every running client is ready
	down      Span      // every stopped client is down
	known     Span      // every client is known as it is
	deployed  Span      // no deployment is under way
	own       Span      // for the condition's own use
	created   time.Time // when an evaluation was last created
	peakOpen  int       // most evaluations pending in state
	goneFirst int       // nodes gone when the phase began
}

// response is how long an evaluation took that was acked before a sample.
type response struct {
	at   time.Time // of the sample
	took time.Duration
}

// NewWatch returns the Watch of a phase that begins with a sample, ends by a condition and may be
// idle for as long as stall.
func NewWatch(first Sample, until Condition, stall time.Duration) *Watch {
	w := &Watch{
		Start: first.At, Last: first, created: first.At, Moved: first.At,
		until: until, peakOpen: first.Cluster.StatePending, goneFirst: first.gone(),
	}
	w.moves = w.movement(first, stall)
	if r, ok := until.(Retrospective); ok {
		w.span = r.Span()
	}
	return w
}

// movement returns what tells whether a phase moves.
func (w *Watch) movement(first Sample, stall time.Duration) func(Sample) bool {
	works := func(s Sample) bool { return workOf(s) != workOf(w.Last) }
	until, ok := w.until.(Measured)
	if !ok {
		return works
	}
	if _, ok := until.(Counted); ok {
		near := newNearing(first.At, until.Far(first), stall)
		return func(s Sample) bool { return near.moves(s.At, until.Far(s)) }
	}
	// Work that brings the phase no nearer may do so yet: a rollout has one evaluation pending
	// from its first step to its last.
	nearer, near := first.At, newNearing(first.At, until.Far(first), patience*stall)
	return func(s Sample) bool {
		if near.moves(s.At, until.Far(s)) || !w.EventsOver || w.Asking {
			nearer = s.At
		}
		return works(s) && s.At.Sub(nearer) < patience*stall
	}
}

// patience is how many times as long a phase may do work that brings it no nearer to its end.
const patience = 24

// Add takes the next sample into account.
func (w *Watch) Add(s Sample) {
	before, now := w.Last.Cluster, s.Cluster
	// A real cluster's count may be corrected while nothing happens.
	if now.Counters.EvalsCreated != before.Counters.EvalsCreated && now.LastIndex != before.LastIndex {
		w.created = s.At
		// Something may have come and gone between two samples.
		w.recovered.Holds, w.QueueEmpty.Holds = false, false
	}
	if moved := w.moves(s); !w.EventsOver && !w.Asking || moved {
		w.Moved = s.At
	}
	w.remember(s)
	w.QueueEmpty.see(s.At, s.queueEmpty())
	w.recovered.see(s.At, s.recovered())
	w.ready.see(s.At, s.Fleet.Ready == s.Fleet.Running)
	w.down.see(s.At, s.allDown())
	w.known.see(s.At, s.known())
	w.deployed.see(s.At, s.Deploying == 0)
	w.peakOpen = max(w.peakOpen, now.StatePending)
	w.Last = s
	if since, ok := w.Met(); ok && s.At.Sub(since) > w.held {
		w.held, w.Moved = s.At.Sub(since), s.At
	}
}

// Met reports since when the condition has held.
func (w *Watch) Met() (since time.Time, ok bool) { return w.until.Met(w) }

// Idle returns for how long the phase has come no nearer to its end.
func (w *Watch) Idle() time.Duration { return w.Last.At.Sub(w.Moved) }

// remember adds the responses of a sample and forgets those that are older than the span.
func (w *Watch) remember(s Sample) {
	if w.span == 0 {
		return
	}
	for _, took := range s.Responses {
		w.recent = append(w.recent, response{s.At, took})
	}
	old := 0
	for old < len(w.recent) && s.At.Sub(w.recent[old].at) >= w.span {
		old++
	}
	w.recent = slices.Delete(w.recent, 0, old)
}

// nearing tells a phase that comes nearer to its end, however slowly and with whatever waves, from
// one that only goes to and fro. It cuts time into stretches, and notes how near to its end the
// phase came in each. Take the stretch in which it stayed farthest away: the phase moves when
// it comes nearer than it ever has since. So a phase may first move away from its end. One that
// moves by chance sets such records ever more seldom.
type nearing struct {
	stretch       time.Duration
	since         time.Time // when this stretch began
	last, nearest int       // of this stretch
	farthest      int       // of all stretches before; -1 in the first, in which every change counts
	record        int       // the nearest since the farthest stretch
}

func newNearing(at time.Time, far int, stall time.Duration) *nearing {
	return &nearing{stretch: stall / 4, since: at, last: far, nearest: far, farthest: -1, record: far}
}

// moves takes in how far the phase is from its end now.
func (n *nearing) moves(at time.Time, far int) bool {
	moved := far < n.record || n.farthest < 0 && far != n.last
	n.last, n.nearest, n.record = far, min(n.nearest, far), min(n.record, far)
	if at.Sub(n.since) >= n.stretch {
		if n.nearest > n.farthest {
			n.farthest, n.record = n.nearest, n.nearest
		}
		n.since, n.nearest = at, math.MaxInt
	}
	return moved
}

// work is what moves while a cluster has something to do for its jobs and clients. Garbage
// collection and the leader's other ticks, which go on forever, move none of it.
type work struct {
	created, processed, canceled, failed, plans, missed, down uint64

	pending, cancelable, deploying int // evaluations; deployments
	known, gone, ready, registered int // nodes; clients
}

func workOf(s Sample) work {
	c, n := s.Cluster, s.Cluster.Counters
	return work{
		created: n.EvalsCreated, processed: n.EvalsProcessed, canceled: n.EvalsCanceled, failed: n.EvalsFailed,
		plans: n.PlansSubmitted, missed: n.MissedHeartbeats, down: n.NodesDown,
		pending: c.StatePending, cancelable: c.Broker.Cancelable, deploying: s.Deploying,
		known: c.NodesByStatus[rpc.NodeStatusReady], gone: s.gone(), ready: s.Fleet.Ready, registered: s.Fleet.Registered,
	}
}

// SecondsOf returns the time from the phase's start to the beginning of a span that holds;
// -1 if it does not.
func (w *Watch) SecondsOf(s Span) float64 {
	if !s.Holds {
		return -1
	}
	return s.Since.Sub(w.Start).Round(time.Microsecond).Seconds()
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
