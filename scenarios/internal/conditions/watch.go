package conditions

import (
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
	Moved      time.Time // when what the phase waits for last moved, or an event was still to come
	QueueEmpty Span      // workers have nothing to do

	recent    []response        // of the last span, if the condition looks back
	span      time.Duration     // zero: it does not
	moves     func(Sample) bool // whether what the phase waits for has moved since the last sample
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

// NewWatch returns the Watch of a phase that begins with a sample and ends by a condition.
func NewWatch(first Sample, until Condition) *Watch {
	w := &Watch{
		Start: first.At, Last: first, created: first.At, Moved: first.At,
		peakOpen: first.Cluster.StatePending, goneFirst: first.gone(),
	}
	w.moves = func(s Sample) bool { return workOf(s) != workOf(w.Last) }
	if f, ok := until.(Figure); ok {
		swing := &swing{since: first.At, value: f.Figure(first)}
		w.moves = func(s Sample) bool { return swing.moves(s.At, f.Figure(s)) }
	}
	if r, ok := until.(Retrospective); ok {
		w.span = r.Span()
	}
	return w
}

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
}

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

// swing tells a figure that goes somewhere from one that goes up and down between the same values,
// hour for hour, as the queue of a cluster with a periodic job does.
type swing struct {
	value     int
	since     time.Time // when this hour began
	now, last *reach
}

// reach is what a figure lay between.
type reach struct{ low, high int }

// moves takes in the figure as it is now. In the first hour every change is a move, and then what
// leaves the reach of the hour before, or an hour that had another reach.
func (w *swing) moves(at time.Time, v int) bool {
	moved := v != w.value
	if w.last != nil {
		moved = v < w.last.low || v > w.last.high
	}
	w.value = v
	if w.now == nil {
		w.now = &reach{v, v}
	}
	w.now.low, w.now.high = min(w.now.low, v), max(w.now.high, v)
	if at.Sub(w.since) >= time.Hour {
		moved = moved || w.last != nil && *w.now != *w.last
		w.last, w.now, w.since = w.now, nil, at
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
