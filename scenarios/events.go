package scenarios

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
)

// underway is a fault that has begun and will end.
type underway struct {
	due  time.Time // zero: not by itself
	mark string
	end  func() error
}

// begin notes a fault that ends after a while, or, if that is zero, when everything is
// healed. Like everything about faults it belongs to the goroutine of the events.
func (r *run) begin(lasts time.Duration, mark string, end func() error) {
	u := underway{mark: mark, end: end}
	if lasts > 0 {
		u.due = time.Now().Add(r.sc.scaleOf(lasts))
	}
	r.faults = append(r.faults, u)
}

// nextEnd returns the place of the fault that ends first; false when none ends by itself.
func (r *run) nextEnd() (at int, ok bool) {
	for i, u := range r.faults {
		if !u.due.IsZero() && (!ok || u.due.Before(r.faults[at].due)) {
			at, ok = i, true
		}
	}
	return at, ok
}

func (r *run) end(i int) error {
	u := r.faults[i]
	r.faults = append(r.faults[:i:i], r.faults[i+1:]...)
	if u.mark != "" {
		r.rec.Mark(time.Now(), u.mark)
	}
	return u.end()
}

// heal ends every fault.
func (r *run) heal() error {
	r.healing = true
	defer func() { r.healing = false }()
	var errs []error
	for len(r.faults) > 0 {
		errs = append(errs, r.end(0))
	}
	for i := range r.cluster.Servers() {
		errs = append(errs, r.startServer(i))
	}
	return errors.Join(errs...)
}

// healing bounds: what is checked at the end of a run is what a healthy cluster has made of
// it, so a run that leaves faults behind is given as much time.
const (
	healQuiet = quiet
	healLimit = time.Hour
)

// healAtEnd ends what faults the phases have left and waits until the cluster has settled.
func (r *run) healAtEnd() error {
	if len(r.faults) == 0 {
		return nil
	}
	r.rec.Mark(time.Now(), "all faults end")
	if err := r.heal(); err != nil {
		return fmt.Errorf("end the faults that were left: %w", err)
	}
	until := Settled{For: r.sc.scaleOf(healQuiet)}
	w := newWatch(r.sample())
	w.eventsDone = true
	for limit := r.sc.scaleOf(healLimit); ; {
		time.Sleep(r.period(time.Since(w.start)))
		if r.ctx.Err() != nil {
			return r.ctx.Err()
		}
		w.add(r.sample())
		if since, ok := until.met(w); ok && w.last.at.Sub(since) >= until.hold() {
			return nil
		}
		if w.last.at.Sub(w.start) > limit {
			return fmt.Errorf("%v after all faults ended: %w: %s", limit, errStalled, until.lacking(w))
		}
	}
}

// retryAfter is how long the user of an action waits who found no leader, and retryFor how
// long it is before he gives up.
const (
	retryAfter = time.Second
	retryFor   = 10 * time.Minute
)

// step is an event that has not happened yet.
type step struct {
	due    time.Time
	giveUp time.Time // zero: it was not tried yet
	action Action
}

// events lets a phase's events happen, each at its time or when the one before is done, and
// the ends of faults in between. It returns when the last event has happened and the last
// fault that ends by itself has ended.
func (r *run) events(p Phase) error {
	var steps []step
	for start, i := time.Now(), 0; i < len(p.Events); i++ {
		steps = append(steps, step{due: start.Add(p.Events[i].At), action: p.Events[i].Action})
	}
	for {
		at, ends := r.nextEnd()
		if !ends && len(steps) == 0 {
			return nil
		}
		var due time.Time
		if ends = ends && (len(steps) == 0 || !steps[0].due.Before(r.faults[at].due)); ends {
			due = r.faults[at].due
		} else {
			due = steps[0].due
		}
		timer := time.NewTimer(time.Until(due))
		select {
		case <-timer.C:
		case <-r.ctx.Done():
			timer.Stop()
			return r.ctx.Err()
		}
		if ends {
			if err := r.end(at); err != nil {
				return err
			}
			continue
		}
		next := steps[0]
		steps = steps[1:]
		again, err := r.take(next)
		if err != nil {
			return err
		}
		if again != nil {
			steps = putBack(steps, *again)
		}
	}
}

// putBack adds a step that is to be tried again. What users and operators do after it waits
// for it, as they would: else a job that was to be stopped and then registered might end as
// stopped. Faults wait for nobody, since what keeps the leader away may be one that they end.
func putBack(steps []step, again step) []step {
	if asksLeader(again.action) {
		for i := range steps {
			if asksLeader(steps[i].action) && steps[i].due.Before(again.due) {
				steps[i].due = again.due
			}
		}
	}
	steps = slices.Insert(steps, 0, again)
	slices.SortStableFunc(steps, func(a, b step) int { return a.due.Compare(b.due) })
	return steps
}

// asksLeader tells what users and operators do from what befalls machines and networks.
func asksLeader(a Action) bool {
	switch a.(type) {
	case RegisterJobs, UpdateJob, StopJob, ScaleJob, FailAllocs, ForcePeriodic, CollectGarbage, PauseEvalBroker, ResumeEvalBroker,
		DrainNodes, EndDrains, SetEligibility, NodeEvents, series, onGroup:
		return true
	}
	return false
}

// take makes an event happen. One that found no leader is to be tried again; so is one whose
// answer was lost, which may have happened all the same: if its job is gone by then, there is
// nothing left to try.
func (r *run) take(s step) (again *step, err error) {
	if mark := s.action.Mark(); mark != "" && s.giveUp.IsZero() {
		r.rec.Mark(time.Now(), mark)
	}
	err = s.action.do(r)
	if errors.Is(err, rpc.ErrJobNotFound) && !s.giveUp.IsZero() {
		return nil, nil
	}
	// A node that is not found is one that the server which answered has not heard of: it was
	// picked from the state of another.
	if !errors.Is(err, rpc.ErrNoLeader) && !errors.Is(err, rpc.ErrUnreachable) && !errors.Is(err, rpc.ErrNodeNotFound) {
		return nil, err
	}
	now := time.Now()
	if s.giveUp.IsZero() {
		s.giveUp = now.Add(r.sc.scaleOf(retryFor))
	}
	if now.After(s.giveUp) {
		return nil, err
	}
	s.due = now.Add(r.sc.scaleOf(retryAfter))
	return &s, nil
}
