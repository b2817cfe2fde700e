package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

// launchSuffix stands between the ID of a periodic job and the Unix second of a launch in
// the ID of the job that is launched (structs.go, PeriodicLaunchSuffix).
const launchSuffix = "/periodic-"

// periodicDispatcher launches periodic jobs while the server leads (nomad/periodic.go). The
// state machine tells it of jobs.
type periodicDispatcher struct {
	srv *server

	mu      sync.Mutex
	tracked map[broker.JobID]periodicLaunch // nil while the server does not lead
	wake    chan struct{}
}

type periodicLaunch struct {
	job  *rpc.Job
	next time.Time
}

// start takes up the periodic jobs, and returns those that should have been launched while
// nobody led (nomad/leader.go, restorePeriodicDispatcher).
func (p *periodicDispatcher) start(snap *state.Snapshot) (missed []*rpc.Job) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tracked, p.wake = map[broker.JobID]periodicLaunch{}, make(chan struct{}, 1)
	now := time.Now()
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

func (p *periodicDispatcher) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tracked = nil
}

// jobChanged takes note of a job that was registered, stopped or purged.
func (p *periodicDispatcher) jobChanged(id broker.JobID, job *rpc.Job) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tracked == nil {
		return
	}
	_, was := p.tracked[id]
	is := job != nil && job.Periodic != nil && !job.Stop
	if is {
		p.tracked[id] = periodicLaunch{job, job.Periodic.Next(time.Now())}
	} else {
		delete(p.tracked, id)
	}
	if was || is {
		select {
		case p.wake <- struct{}{}:
		default:
		}
	}
}

// run launches jobs until ctx is done, first those that were missed.
func (p *periodicDispatcher) run(ctx context.Context, missed []*rpc.Job) {
	for _, job := range missed {
		// A launch is lost with leadership: the next leader finds it missing.
		_, _ = p.launch(job, time.Now())
	}
	for {
		var due <-chan time.Time
		first, ok := p.first()
		var timer *time.Timer
		if ok {
			timer = time.NewTimer(time.Until(first.next))
			due = timer.C
		}
		fired := false
		select {
		case <-ctx.Done():
		case <-p.wake:
		case <-due:
			fired = true
		}
		if timer != nil {
			timer.Stop()
		}
		if ctx.Err() != nil {
			return
		}
		if fired {
			p.dispatch(first)
		}
	}
}

// first is the next launch; of two at one instant that of the lower ID.
func (p *periodicDispatcher) first() (periodicLaunch, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.tracked) == 0 {
		return periodicLaunch{}, false
	}
	return slices.MinFunc(slices.Collect(maps.Values(p.tracked)), func(a, b periodicLaunch) int {
		return cmp.Or(a.next.Compare(b.next), cmp.Compare(a.job.Namespace, b.job.Namespace), cmp.Compare(a.job.ID, b.job.ID))
	}), true
}

// dispatch launches a job whose time has come, unless it must not overlap with itself.
func (p *periodicDispatcher) dispatch(l periodicLaunch) {
	id := broker.JobID{Namespace: l.job.Namespace, ID: l.job.ID}
	p.mu.Lock()
	if now, ok := p.tracked[id]; !ok || now.next != l.next {
		p.mu.Unlock()
		return // changed meanwhile
	}
	p.tracked[id] = periodicLaunch{l.job, l.job.Periodic.Next(l.next)}
	p.mu.Unlock()
	if l.job.Periodic.ProhibitOverlap && childRuns(p.srv.store.Snapshot(), l.job) {
		return
	}
	_, _ = p.launch(l.job, l.next)
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

// launch registers a job like the periodic one that runs at once, and returns the ID of
// its evaluation.
func (p *periodicDispatcher) launch(job *rpc.Job, at time.Time) (evalID string, err error) {
	child := job.Copy()
	child.ID = job.ID + launchSuffix + strconv.FormatInt(at.Unix(), 10)
	child.ParentID, child.Periodic, child.Version = job.ID, nil, 0
	p.srv.happened(func(c *Causes) { c.JobsLaunched++ })
	e := p.srv.jobEval(child, broker.TriggeredByPeriodicJob)
	if _, err := p.srv.raftApply(jobRegisterRequestType, &jobRegisterRequest{Job: child, Eval: e, Time: time.Now().UnixNano()}); err != nil {
		return "", fmt.Errorf("launch job %q: %w", child.ID, err)
	}
	return e.ID, nil
}

// ForcePeriodic launches a periodic job now, whatever its time and whether it overlaps, and
// returns the ID of the launched job's evaluation (nomad/periodic_endpoint.go, Force). An
// empty namespace stands for "default".
func (c *Cluster) ForcePeriodic(ctx context.Context, namespace, id string) (evalID string, err error) {
	def(&namespace, rpc.DefaultNamespace)
	return userCall(ctx, c, "Periodic.Force", id, func(l *server) (string, error) {
		job, err := l.findJob(namespace, id)
		if err != nil {
			return "", err
		}
		if job.Periodic == nil || job.Stop {
			return "", fmt.Errorf("job %q cannot be forced: it is not an active periodic job", id)
		}
		return l.periodic.launch(job, time.Now())
	})
}

// checkPeriodic says what is wrong with a job as a periodic one.
func checkPeriodic(job *rpc.Job) error {
	switch p := job.Periodic; {
	case p == nil:
		return nil
	case job.Type != rpc.JobTypeBatch && job.Type != rpc.JobTypeSysBatch:
		return fmt.Errorf("job %q is a %s job: only batch and sysbatch jobs can be periodic", job.ID, job.Type)
	case p.Every < time.Second:
		return fmt.Errorf("job %q launches every %v: one second is the least", job.ID, p.Every)
	case strings.Contains(job.ID, launchSuffix):
		return errors.New("a job launched by another cannot be periodic itself")
	}
	return nil
}

// noteLaunch records when a periodic job was last launched, or first registered: what a
// new leader goes by (nomad/fsm.go, applyUpsertJob).
func noteLaunch(tx *state.Tx, job *rpc.Job, at int64) error {
	id := broker.JobID{Namespace: job.Namespace, ID: job.ID}
	if job.Periodic != nil && !job.Stop {
		return tx.NoteLaunch(id, at, false)
	}
	if job.ParentID == "" {
		return nil
	}
	_, second, _ := strings.Cut(job.ID, launchSuffix)
	launched, err := strconv.ParseInt(second, 10, 64)
	if err != nil {
		return fmt.Errorf("launched job %q has no time in its ID: %w", job.ID, err)
	}
	return tx.NoteLaunch(broker.JobID{Namespace: job.Namespace, ID: job.ParentID}, time.Unix(launched, 0).UnixNano(), true)
}
