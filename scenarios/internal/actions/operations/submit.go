package operations

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/draw"
	"github.com/simctl/simctl/scenarios/internal/english"
)

var _ = actions.Register("submit_jobs", submission{}, submission.action, actions.Drawn(actions.OfUsers, 7, 1, drawSubmitJobs).Unless(
	// Whether a copy is submitted before or after a change of its job, and whether it is refused, depends on the
	// exact moment.
	func(e draw.Event, _, all []draw.Event) bool {
		return e.Follows(all, "update_job") || e.Follows(all, "scale_job") || e.Follows(all, "stop_job")
	}))

// submission is which jobs to submit, and how fast.
type submission struct {
	Job       string `lang:"required,ref=job"`
	Copies    *int
	PerSecond float64 `lang:"required,max=1000000"`
	RisingTo  float64 `lang:"max=1000000"`
	Within    time.Duration
}

func (w submission) action(s *actions.Setting) (actions.Action, error) {
	jobs, err := s.First(w.Job, w.Copies)
	if err != nil {
		return nil, err
	}
	if err := s.Charge(len(jobs)); err != nil {
		return nil, err
	}
	return SubmitJobs{Block: w.Job, Jobs: jobs, PerSecond: w.PerSecond, RisingTo: w.RisingTo, Within: w.Within}, nil
}

// SubmitJobs submits jobs in an open loop: each at its time, even if answers to earlier ones are still to come.
// It goes on while the events after it come, until all are submitted or Heal ends it. A job
// that the servers refuse is not submitted again.
type SubmitJobs struct {
	Block     string
	Jobs      []*rpc.Job
	PerSecond float64 `scale:"rate"`
	// RisingTo is the rate after Within, towards which it rises evenly. Zero leaves it as it is.
	RisingTo float64 `scale:"rate"`
	Within   time.Duration
}

func (a SubmitJobs) Check(int) error {
	switch {
	case !(a.PerSecond > 0): // so that a NaN is refused
		return fmt.Errorf("per_second is %g: it must be above 0", a.PerSecond)
	case a.RisingTo != 0 && !(a.RisingTo > a.PerSecond):
		return fmt.Errorf("rising_to is %g: it must be above per_second, which is %g", a.RisingTo, a.PerSecond)
	case (a.RisingTo == 0) != (a.Within == 0):
		return errors.New("rising_to and within belong together: give both or neither")
	}
	return nil
}

// On returns an error that names the first job that is for simulated clusters only.
func (a SubmitJobs) On(t actions.Target) error { return RegisterJobs{Jobs: a.Jobs}.On(t) }

func (a SubmitJobs) Mark() string {
	if a.RisingTo == 0 {
		return fmt.Sprintf("%g jobs %s a second", a.PerSecond, a.Block)
	}
	return fmt.Sprintf("%g to %g jobs %s a second", a.PerSecond, a.RisingTo, a.Block)
}

// due returns when a job is submitted, counted from 0, since the beginning: when the integral of
// the rate is its number.
func (a SubmitJobs) due(number int) time.Duration {
	n, from, to, ramp := float64(number), a.PerSecond, a.RisingTo, a.Within.Seconds()
	seconds := n / from
	if to > 0 {
		slope := (to - from) / ramp
		if inRamp := (from + to) / 2 * ramp; n < inRamp {
			seconds = (math.Sqrt(from*from+2*slope*n) - from) / slope
		} else {
			seconds = ramp + (n-inRamp)/to
		}
	}
	return time.Duration(min(seconds*float64(time.Second), math.MaxInt64/4))
}

// Lasts returns how long the submission goes on.
func (a SubmitJobs) Lasts() time.Duration { return a.due(len(a.Jobs)) }

// rate returns how many jobs are submitted in a second, so long after the beginning.
func (a SubmitJobs) rate(after time.Duration) float64 {
	if a.RisingTo == 0 {
		return a.PerSecond
	}
	return a.PerSecond + (a.RisingTo-a.PerSecond)*min(after.Seconds()/a.Within.Seconds(), 1)
}

// submitOffset moves the submissions off the instants at which timers and behaviours act.
const submitOffset = 2_027 * time.Nanosecond

func (a SubmitJobs) Do(s *actions.Stage) error {
	ctx, cancel := context.WithCancel(s.Ctx)
	u := underway{stage: s, ctx: ctx}
	u.wg.Go(func() { u.submit(a) })
	s.Begin(0, "", func() error {
		cancel()
		u.wg.Wait()
		s.Note(u.summary(a.RisingTo > 0))
		return u.err
	})
	return nil
}

// underway is a submission that has begun.
type underway struct {
	stage *actions.Stage
	ctx   context.Context
	wg    sync.WaitGroup

	mu            sync.Mutex
	rate          float64 // when the last job was submitted
	sent, refused int
	err           error // the first that is no refusal
}

// summary says what was submitted. The submission must have ended.
func (u *underway) summary(rises bool) string {
	text := english.Plural(u.sent+u.refused, "job")
	if rises {
		text += fmt.Sprintf(", the last at %.4g a second", u.rate)
	}
	if u.refused > 0 {
		text += fmt.Sprintf("; %d refused", u.refused)
	}
	return text
}

// submit submits every job when it is due.
func (u *underway) submit(a SubmitJobs) {
	start := time.Now().Add(submitOffset)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for i, job := range a.Jobs {
		due := a.due(i)
		timer.Reset(time.Until(start.Add(due)))
		select {
		case <-timer.C:
		case <-u.ctx.Done():
			return
		}
		u.mu.Lock()
		u.rate = a.rate(due)
		u.mu.Unlock()
		// A job that is on its way gets its answer even if the submission ends before.
		u.wg.Go(func() {
			_, err := u.stage.Cluster.RegisterJob(u.stage.Ctx, job)
			u.answered(job, err)
		})
	}
}

func (u *underway) answered(job *rpc.Job, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case err == nil:
		u.sent++
	case rpc.Passes(err):
		u.refused++
	case u.stage.Ctx.Err() == nil && u.err == nil:
		u.err = named(err, "submit job", job.ID)
	}
}

// drawSubmitJobs submits all copies of a job once more, as they are.
func drawSubmitJobs(s *draw.Source) draw.Event {
	lines := []string{"per_second = " + s.Between(0.05, 2)}
	if s.Chance(1, 2) {
		lines = append(lines, "rising_to = "+s.Between(2.5, 10), "within = "+s.Delay(time.Second, 20*time.Second))
	}
	return draw.OfJob("submit_jobs", s.AnyJob(), lines...)
}
