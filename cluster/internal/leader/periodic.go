package leader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/config"
	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

// Periodic launches periodic jobs while the server leads (nomad/periodic.go). The
// state machine tells it of jobs.
type Periodic struct {
	log    Log
	habits config.Habits

	mu      sync.Mutex
	tracked map[broker.JobID]periodicLaunch // nil while the server does not lead
	wake    chan struct{}
}

type periodicLaunch struct {
	job  *rpc.Job
	next time.Time
}

// NewPeriodic returns a dispatcher that is stopped.
func NewPeriodic(l Log, h config.Habits) *Periodic { return &Periodic{log: l, habits: h} }

// Start takes up the periodic jobs, and returns those that should have been launched while
// nobody led (nomad/leader.go, restorePeriodicDispatcher).
func (p *Periodic) Start(snap *state.Snapshot) (missed []*rpc.Job) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tracked, p.wake = map[broker.JobID]periodicLaunch{}, make(chan struct{}, 1)
	now := p.log.Wall()
	for job := range snap.Jobs() {
		if job.Periodic == nil || job.Stop {
			continue
		}
		id := broker.JobID{Namespace: job.Namespace, ID: job.ID}
		p.tracked[id] = periodicLaunch{job, job.Periodic.Next(now)}
		if job.Periodic.Next(snap.LastLaunch(id)).Before(now) {
			missed = append(missed, job)
		}
	}
	return missed
}

// Stop forgets the jobs.
func (p *Periodic) Stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tracked = nil
}

// JobChanged takes note of a job that was registered, stopped or purged.
func (p *Periodic) JobChanged(id broker.JobID, job *rpc.Job) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tracked == nil {
		return
	}
	_, was := p.tracked[id]
	is := job != nil && job.Periodic != nil && !job.Stop
	if is {
		p.tracked[id] = periodicLaunch{job, job.Periodic.Next(p.log.Wall())}
	} else {
		delete(p.tracked, id)
	}
	if was || is {
		Wake(p.wake)
	}
}

// Run launches jobs until ctx is done, first those that were missed. Old releases launch these though
// they must not overlap with themselves (leader.go, restorePeriodicDispatcher).
func (p *Periodic) Run(ctx context.Context, missed []*rpc.Job) {
	for _, job := range missed {
		if p.habits.MissedMayNotOverlap && overlaps(p.log.Snapshot(), job) {
			continue
		}
		// A launch is lost with leadership: the next leader finds it missing.
		_, _ = p.Launch(job, p.log.Wall())
	}
	for ctx.Err() == nil {
		if first := p.first(); await(ctx, p.wake, p.log, first.next) {
			p.dispatch(first)
		}
	}
}

// first returns the next launch, of two at one instant that of the lower ID; the zero
// launch if there is none.
func (p *Periodic) first() periodicLaunch {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.tracked) == 0 {
		return periodicLaunch{}
	}
	return slices.MinFunc(slices.Collect(maps.Values(p.tracked)), func(a, b periodicLaunch) int {
		return cmp.Or(a.next.Compare(b.next), cmp.Compare(a.job.Namespace, b.job.Namespace), cmp.Compare(a.job.ID, b.job.ID))
	})
}

// dispatch launches a job whose time has come, unless it must not overlap with itself.
func (p *Periodic) dispatch(l periodicLaunch) {
	id := broker.JobID{Namespace: l.job.Namespace, ID: l.job.ID}
	p.mu.Lock()
	if now, ok := p.tracked[id]; !ok || now.next != l.next {
		p.mu.Unlock()
		return // changed meanwhile
	}
	p.tracked[id] = periodicLaunch{l.job, l.job.Periodic.Next(l.next)}
	p.mu.Unlock()
	if overlaps(p.log.Snapshot(), l.job) {
		return
	}
	_, _ = p.Launch(l.job, l.next)
}

// overlaps reports whether a job must not be launched because an earlier launch of it still runs.
func overlaps(snap *state.Snapshot, job *rpc.Job) bool {
	return job.Periodic.ProhibitOverlap && childRuns(snap, job)
}

// childRuns reports whether a job that this one launched has something left to do
// (periodic.go, RunningChildren).
func childRuns(snap *state.Snapshot, parent *rpc.Job) bool {
	for job := range snap.Jobs() {
		if job.ParentID != parent.ID || job.Namespace != parent.Namespace {
			continue
		}
		id := broker.JobID{Namespace: job.Namespace, ID: job.ID}
		open := func(e *broker.Evaluation) bool { return !e.Terminal() }
		if snap.JobAllocs(id).Live > 0 || slices.ContainsFunc(snap.EvalsByJob(id), open) {
			return true
		}
	}
	return false
}

// Launch registers a job like the periodic one that runs at once, and returns the ID of
// its evaluation.
func (p *Periodic) Launch(job *rpc.Job, at time.Time) (evalID string, err error) {
	child := job.Copy()
	child.ID = fsm.LaunchID(job.ID, at)
	child.ParentID, child.Periodic, child.Version = job.ID, nil, 0
	p.log.Because(fsm.JobLaunched)
	e := JobEval(p.log, child, broker.TriggeredByPeriodicJob)
	if _, err := p.log.Write(fsm.JobRegister.With(&fsm.JobRegisterRequest{Job: child, Eval: e, Time: p.log.Wall().UnixNano()})); err != nil {
		return "", fmt.Errorf("launch job %q: %w", child.ID, err)
	}
	return e.ID, nil
}

// CheckPeriodic says what is wrong with a job as a periodic one.
func CheckPeriodic(job *rpc.Job) error {
	switch p := job.Periodic; {
	case p == nil:
		return nil
	case job.Type != rpc.JobTypeBatch && job.Type != rpc.JobTypeSysBatch:
		return fmt.Errorf("job %q is a %s job: only batch and sysbatch jobs can be periodic", job.ID, job.Type)
	case p.Every < time.Second:
		return fmt.Errorf("job %q launches every %v: one second is the least", job.ID, p.Every)
	case strings.Contains(job.ID, fsm.LaunchSuffix):
		return errors.New("a job launched by another cannot be periodic itself")
	}
	return nil
}
