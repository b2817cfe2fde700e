package scenarios

import (
	"slices"
	"time"

	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/nodesim"
	"github.com/simctl/simctl/scenarios/language"
)

// Scenario is a run, worked out: everything that happens and when it ends, as data. Its
// durations are virtual time (or wall time, scaled).
type Scenario struct {
	Name    string
	Title   string
	Cluster cluster.Config // schedulers are off until a phase turns them on
	Fleet   nodesim.Config // Servers and Dial are set when it runs
	Phases  []Phase
	// Thresholds are demands on the Results, checked by whoever has all of them.
	Thresholds []metrics.Threshold

	cost     *Cost
	profiles profiles
	vars     []language.Variable
	scale    float64 // of time; 1 unless on the wall clock
}

// Phase is one stretch of a run: events, and a condition that ends it.
type Phase struct {
	Name   string
	Events []Event
	Until  Condition
	// Stall ends the phase, and fails the run, when nothing the condition waits for has
	// moved for that long; zero means an hour.
	Stall time.Duration
	// Timeout ends the phase, and fails the run, at last; zero means 30 days, which only a
	// cluster that goes on failing forever reaches.
	Timeout time.Duration
}

// Event is an action at an offset from its phase's start. Events of a phase are ascending
// in At; one that takes time delays those after it.
type Event struct {
	At     time.Duration
	Action Action
}

// Action is something done to the cluster or the fleet.
type Action interface {
	// Mark is the text that marks the action in the Result; empty = none.
	Mark() string
	do(r *run) error
}

// Actions.
type (
	// RegisterJobs submits jobs one after the other.
	RegisterJobs struct{ Jobs []*rpc.Job }
	// StartClients brings the whole fleet to life.
	StartClients struct{}
	// SetSchedulers sets num_schedulers on every server.
	SetSchedulers struct {
		PerServer int `lang:"required,max=1024"`
	}
)

// Condition ends a phase.
type Condition interface {
	// met reports since when the condition has held, given everything seen in the phase.
	// The phase ends once that is long enough ago (hold).
	met(w *watch) (since time.Time, ok bool)
	// hold is how long the condition must hold.
	hold() time.Duration
	// done estimates how far the phase is, 0 to 1; -1 if it cannot be told.
	done(w *watch) float64
	// lacking says what the condition still waits for.
	lacking(w *watch) string
}

// Conditions.
type (
	// Registered: every running client is ready and no evaluation has been created for For.
	Registered struct{ For time.Duration }
	// Recovered: neither the broker nor the state holds a pending evaluation, and that has
	// been so for For. With AfterDown every stopped client's node is down besides.
	Recovered struct {
		For       time.Duration
		AfterDown bool
	}
	// Settled: recovered, and the servers know every client as it is: those that run as
	// ready and the others as gone; and that has been so for For.
	Settled struct{ For time.Duration }
)

// quiet is how long a cluster must hold no pending evaluation to count as recovered.
const quiet = 5 * time.Second

// scaled returns the scenario with every duration multiplied; Raft's have a floor.
func (s *Scenario) scaled(factor float64) *Scenario {
	s.scale = factor
	if factor == 1 {
		return s
	}
	c := &s.Cluster
	for _, d := range []*time.Duration{
		&c.Heartbeat.MinTTL, &c.Heartbeat.Grace, &c.Heartbeat.FailoverTTL, &c.Reaper.Interval,
		&c.Eval.NackTimeout, &c.Eval.InitialNackDelay, &c.Eval.SubsequentNackDelay,
		&c.Eval.FailedFollowupBaseline, &c.Eval.FailedFollowupRange, &c.BatchUpdateInterval, &c.PlanRejection.Window,
	} {
		*d = s.scaleOf(*d)
	}
	c.Heartbeat.MaxPerSecond /= factor
	c.GC = c.GC.Scaled(factor)
	c.Raft = c.Raft.Scaled(factor)
	c.Costs = scaleDurations(c.Costs, factor)
	s.Fleet = scaledFleet(s.Fleet, s.scaleOf, factor)
	for i := range s.Phases {
		p := &s.Phases[i]
		p.Stall, p.Timeout = s.scaleOf(p.Stall), s.scaleOf(p.Timeout)
		for j := range p.Events {
			p.Events[j].At = s.scaleOf(p.Events[j].At)
		}
		switch u := p.Until.(type) {
		case Registered:
			u.For = s.scaleOf(u.For)
			p.Until = u
		case Recovered:
			u.For = s.scaleOf(u.For)
			p.Until = u
		case Settled:
			u.For = s.scaleOf(u.For)
			p.Until = u
		case Elapsed:
			u.For = s.scaleOf(u.For)
			p.Until = u
		case QueueDepth:
			u.For = s.scaleOf(u.For)
			p.Until = u
		}
	}
	return s
}

// scaledJob returns a job as it is to be submitted: with every duration multiplied, though
// none launches more often than once a second.
func (s *Scenario) scaledJob(job *rpc.Job) *rpc.Job {
	if s.scale == 1 {
		return job
	}
	j := job.Copy()
	j.TaskGroups = slices.Clone(job.TaskGroups)
	for i := range j.TaskGroups {
		g := &j.TaskGroups[i]
		if g.ProgressDeadline == 0 {
			g.ProgressDeadline = rpc.DefaultProgressDeadline
		}
		g.MaxClientDisconnect, g.ProgressDeadline = s.scaleOf(g.MaxClientDisconnect), s.scaleOf(g.ProgressDeadline)
	}
	if j.Periodic != nil {
		p := *j.Periodic
		p.Every = max(s.scaleOf(p.Every), time.Second)
		j.Periodic = &p
	}
	return j
}

func (s *Scenario) scaleOf(d time.Duration) time.Duration {
	return time.Duration(float64(d) * s.scale)
}
