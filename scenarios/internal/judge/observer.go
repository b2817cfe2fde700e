package judge

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/internal/uuid"
	"github.com/simctl/simctl/metrics"
)

// Observer listens to the leader's broker: it feeds the latencies and the fan-in, and keeps,
// apart from the cluster's own counters, what the invariants are checked against. It is safe
// for concurrent use.
type Observer struct {
	alive func() // tells the watchdog that the run goes on

	mu       sync.Mutex
	rec      *metrics.Recorder         // nil until the run starts, after the first election
	inFlight map[broker.JobID][]flight // one for each job, but see Dequeued
	seen     Seen
	// responses are those since the last call of Responses.
	responses []time.Duration
	// slack is how long two evaluations may seem to overlap: calls about one job can overtake
	// each other. On virtual time a call takes no time.
	slack time.Duration
}

// flight is an evaluation that a worker has.
type flight struct {
	eval   string
	began  time.Time
	waited time.Duration
	before time.Duration // what it had waited the time before, if it was in flight then
	joined time.Time     // when another of its job was dequeued as well; zero = none was
	by     string        // that one
}

var _ cluster.Observer = (*Observer)(nil)

// NewObserver returns an Observer that calls alive for every ack. Two evaluations of a job may
// seem to overlap for slack.
func NewObserver(alive func(), slack time.Duration) *Observer {
	return &Observer{alive: alive, slack: slack, inFlight: map[broker.JobID][]flight{}}
}

// Record sets where latencies go.
func (o *Observer) Record(rec *metrics.Recorder) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.rec = rec
}

func (o *Observer) Dequeued(at time.Time, e *broker.Evaluation, waited time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.rec != nil {
		o.rec.Observe(metrics.LatencyWait, waited)
	}
	job, before := o.inFlight[e.Job()], time.Duration(0)
	for i, f := range job {
		if f.eval == e.ID { // delivered again
			before = f.waited
			job = slices.Delete(job, i, i+1)
			break
		}
		if f.joined.IsZero() {
			// Either the broker gave out a second one, or the ack of the first is on its way. The
			// ack will tell.
			job[i].joined, job[i].by = at, e.ID
		}
	}
	o.inFlight[e.Job()] = append(job, flight{eval: e.ID, began: at, waited: waited, before: before})
}

func (o *Observer) Acked(at time.Time, e *broker.Evaluation, held time.Duration, shed int) {
	o.alive()
	o.mu.Lock()
	defer o.mu.Unlock()
	waited := o.land(at, e, held)
	o.seen.acks++
	o.seen.acked.Add(e.ID)
	if o.rec == nil {
		return
	}
	o.rec.Observe(metrics.LatencyProcess, held)
	o.rec.Observe(metrics.LatencyResponse, waited+held)
	o.responses = append(o.responses, waited+held)
	o.rec.FanIn(1 + shed)
}

// Responses returns how long each evaluation took that was acked since the call before.
func (o *Observer) Responses() []time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	responses := o.responses
	o.responses = nil
	return responses
}

func (o *Observer) Nacked(at time.Time, e *broker.Evaluation) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.land(at, e, 0)
}

func (o *Observer) Flushed(time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	clear(o.inFlight)
	o.seen.flushes++
}

// land takes the evaluation out of flight, which had been held for so long, and returns how long it had waited before.
// If the flight has not lasted that long, then the one before it landed: an ack hands out an evaluation again that was set
// aside under it, and that delivery may be told first. Called with mu held.
func (o *Observer) land(at time.Time, e *broker.Evaluation, held time.Duration) time.Duration {
	job := o.inFlight[e.Job()]
	i := slices.IndexFunc(job, func(f flight) bool { return f.eval == e.ID })
	if i < 0 {
		return 0
	}
	f := job[i]
	if o.slack == 0 && at.Sub(f.began) < held { // where calls take time, so may telling
		return f.before
	}
	if !f.joined.IsZero() && at.Sub(f.joined) > o.slack {
		o.overlap(f)
	}
	if job = slices.Delete(job, i, i+1); len(job) == 0 {
		delete(o.inFlight, e.Job())
	} else {
		o.inFlight[e.Job()] = job
	}
	return f.waited
}

func (o *Observer) overlap(f flight) {
	o.seen.twice++
	if o.seen.first == "" {
		o.seen.first = fmt.Sprintf("%s beside %s", f.by, f.eval)
	}
}

// Seen is what an Observer saw in a run.
type Seen struct {
	acks    uint64
	acked   uuid.Set // evaluations acked at least once
	flushes int
	twice   int    // evaluations that a worker had while another had one of the same job
	first   string // the first of them
}

// Close ends the account and returns it. Evaluations of one job that are still in flight together
// count as overlapping.
func (o *Observer) Close() Seen {
	o.mu.Lock()
	defer o.mu.Unlock()
	var open []flight
	for _, job := range o.inFlight {
		open = append(open, job...)
	}
	slices.SortFunc(open, func(a, b flight) int { return strings.Compare(a.eval, b.eval) })
	for _, f := range open {
		if !f.joined.IsZero() {
			o.overlap(f)
		}
	}
	clear(o.inFlight)
	return o.seen
}
