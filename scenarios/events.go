package scenarios

import (
	"errors"
	"fmt"
	"time"
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

// events lets a phase's events happen, each at its time or when the one before is done, and
// the ends of faults in between. It returns when the last event has happened and the last
// fault that ends by itself has ended.
func (r *run) events(p Phase) error {
	start := time.Now()
	left := p.Events
	for {
		at, ends := r.nextEnd()
		if !ends && len(left) == 0 {
			return nil
		}
		happens := ends && (len(left) == 0 || !start.Add(left[0].At).Before(r.faults[at].due))
		due := time.Time{}
		if happens {
			due = r.faults[at].due
		} else {
			due = start.Add(left[0].At)
		}
		timer := time.NewTimer(time.Until(due))
		select {
		case <-timer.C:
		case <-r.ctx.Done():
			timer.Stop()
			return r.ctx.Err()
		}
		if happens {
			if err := r.end(at); err != nil {
				return err
			}
			continue
		}
		action := left[0].Action
		left = left[1:]
		if mark := action.Mark(); mark != "" {
			r.rec.Mark(time.Now(), mark)
		}
		if err := action.do(r); err != nil {
			return err
		}
	}
}
