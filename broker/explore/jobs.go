package explore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/broker/workqueue"
	"github.com/simctl/simctl/internal/interleave"
)

// Jobs is the name of a workqueue.Queue among those of policies.
const Jobs = "work-queue"

// RunJobs is Run for a workqueue.Queue: jobs are called for, wait for a time, are taken, given
// back and acked, and a new leader calls for all of them. Of the bounds those of jobs, triggers,
// workers, timeouts and failovers count. A violation has no script.
func RunJobs(ctx context.Context, bounds Bounds, progress func(states int)) (*Report, error) {
	return (&jobSystem{bounds: bounds}).search(ctx, progress)
}

func (s *jobSystem) search(ctx context.Context, progress func(states int)) (*Report, error) {
	if err := s.bounds.Check(); err != nil {
		return nil, err
	}
	s.rand = interleave.Tokens()
	found, path, wrong, err := interleave.Explore(ctx, s, s.bounds.MaxStates, progress)
	if err != nil {
		return nil, err
	}
	report := &Report{Policy: Jobs, Bounds: s.bounds, Found: found}
	if wrong != nil {
		report.Violation = &Counterexample{Counterexample: interleave.Counterexample{Property: wrong.Property, Detail: wrong.Detail}}
		for _, st := range path {
			report.Violation.Steps = append(report.Violation.Steps, st.String())
		}
	}
	return report, nil
}

// jobWorld is one state of the system. The log is its index: whatever calls for a job raises it.
type jobWorld struct {
	q       *workqueue.Queue
	now     time.Time
	index   uint64
	gaining bool // the queue is enabled, and the look at all jobs is still to come
	jobs    []calledJob
	workers []jobWorker
	stale   []staleToken

	nacks, failovers int // left
	state            broker.State
}

// calledJob is what a job is owed.
type calledJob struct {
	triggers int
	newest   uint64 // index of the last trigger
	covered  uint64 // newest index that a run which ended has seen
	// asked is the newest index that the queue was called with since it last had nothing of the
	// job; zero if it has nothing. dirty says that the job was not delivered since that call.
	asked uint64
	dirty bool
	// follow is how far the job's one follow-up is.
	follow followUp
}

type followUp byte

const (
	followNone followUp = iota
	followOwed          // its time has not come, or no run of it has ended
	followDone
)

type jobWorker struct {
	busy     bool
	job      int
	id       string
	token    string
	snapshot uint64
}

// jobStep is what a worker, a job or a server does.
type jobStep struct {
	does jobMove
	arg  int // job or worker
}

type jobMove byte

const (
	moveTrigger jobMove = iota
	moveFollow
	moveTake
	moveAck
	moveNack
	moveWaitOver
	moveFailover
	moveResync
)

func (s jobStep) String() string {
	job, worker := string(rune('a'+s.arg)), s.arg+1
	switch s.does {
	case moveTrigger:
		return fmt.Sprintf("job %s is called for", job)
	case moveFollow:
		return fmt.Sprintf("job %s is to be called for later", job)
	case moveTake:
		return fmt.Sprintf("a worker takes job %s", job)
	case moveAck:
		return fmt.Sprintf("worker %d acks", worker)
	case moveNack:
		return fmt.Sprintf("worker %d is too slow, or gives its job back", worker)
	case moveWaitOver:
		return "the first wait is over"
	case moveFailover:
		return "another server gains leadership and enables its queue"
	}
	return "it calls for all jobs"
}

// jobSystem is what is searched. A test can break it by other functions than these.
type jobSystem struct {
	bounds Bounds
	rand   *rand.Rand
	// enqueue is Queue.Enqueue, and resync is jobWorld.resync, unless they are set.
	enqueue func(*workqueue.Queue, time.Time, *broker.Evaluation)
	resync  func(*jobWorld)
}

var _ interleave.System[*jobWorld, jobStep] = (*jobSystem)(nil)

func (s *jobSystem) Start() *jobWorld {
	w := &jobWorld{
		now: time.Unix(0, 0).UTC(), jobs: make([]calledJob, s.bounds.Jobs), workers: make([]jobWorker, s.bounds.Workers),
		nacks: s.bounds.Timeouts, failovers: s.bounds.Failovers,
		q: workqueue.New(broker.Config{Rand: s.rand, NackTimeout: -1, InitialNackDelay: redeliveryDelay, SubsequentNackDelay: redeliveryDelay}),
	}
	w.q.SetEnabled(w.now, true)
	return w
}

func (s *jobSystem) Clone(w *jobWorld) *jobWorld {
	c := *w
	c.q, c.state = new(workqueue.Queue), broker.State{}
	w.q.CloneInto(c.q, s.rand)
	c.jobs, c.workers, c.stale = slices.Clone(w.jobs), slices.Clone(w.workers), slices.Clone(w.stale)
	return &c
}

func (s *jobSystem) Free(*jobWorld) {}

func (s *jobSystem) Fault(st jobStep) bool {
	return st.does == moveTrigger || st.does == moveFollow || st.does == moveNack || st.does == moveFailover
}

func (s *jobSystem) Steps(w *jobWorld) (to []jobStep) {
	for j := range w.jobs {
		if w.jobs[j].triggers < s.bounds.Evals {
			to = append(to, jobStep{moveTrigger, j})
		}
		if w.jobs[j].follow == followNone {
			to = append(to, jobStep{moveFollow, j})
		}
	}
	for i, wk := range w.workers {
		if wk.busy {
			to = append(to, jobStep{moveAck, i})
			if w.nacks > 0 {
				to = append(to, jobStep{moveNack, i})
			}
		}
	}
	if slices.ContainsFunc(w.workers, func(wk jobWorker) bool { return !wk.busy }) {
		for _, h := range w.state.Ready {
			to = append(to, jobStep{moveTake, jobNumber(h.Eval)})
		}
	}
	if len(w.state.Waiting) > 0 {
		to = append(to, jobStep{does: moveWaitOver})
	}
	switch {
	case w.gaining:
		to = append(to, jobStep{does: moveResync})
	case w.failovers > 0:
		to = append(to, jobStep{does: moveFailover})
	}
	return to
}

func jobNumber(e *broker.Evaluation) int { return int(e.JobID[0] - 'a') }

func (s *jobSystem) Apply(w *jobWorld, st jobStep) error {
	w.now = w.now.Add(time.Nanosecond) // no two waits begin at one instant
	switch st.does {
	case moveTrigger:
		w.index++
		w.jobs[st.arg].triggers++
		w.jobs[st.arg].newest = w.index
		s.call(w, st.arg)
	case moveFollow:
		w.jobs[st.arg].follow = followOwed
		s.follow(w, st.arg)
	case moveTake:
		return w.take(st.arg)
	case moveAck:
		return w.ack(st.arg)
	case moveNack:
		return w.nack(st.arg)
	case moveWaitOver:
		w.now, _ = w.q.NextDeadline()
		w.q.Advance(w.now)
	case moveFailover:
		return w.failover()
	case moveResync:
		w.gaining = false
		if s.resync != nil {
			s.resync(w)
			return nil
		}
		for j := range w.jobs {
			s.call(w, j)
			if w.jobs[j].follow == followOwed {
				s.follow(w, j)
			}
		}
	}
	return nil
}

// call calls for a job as of the newest index.
func (s *jobSystem) call(w *jobWorld, j int) {
	w.jobs[j].asked, w.jobs[j].dirty = w.index, true
	s.put(w, &broker.Evaluation{ID: fmt.Sprintf("eval-%d-%d", j, w.index), JobID: string(rune('a' + j)), Type: types[j], ModifyIndex: w.index})
}

// follow calls for a job after a while, as of the beginning of all.
func (s *jobSystem) follow(w *jobWorld, j int) {
	s.put(w, &broker.Evaluation{ID: followID(j), JobID: string(rune('a' + j)), Type: types[j], Wait: redeliveryDelay})
}

func followID(j int) string { return fmt.Sprintf("later-%d", j) }

func (s *jobSystem) put(w *jobWorld, e *broker.Evaluation) {
	if s.enqueue != nil {
		s.enqueue(w.q, w.now, e)
		return
	}
	w.q.Enqueue(w.now, e)
}
