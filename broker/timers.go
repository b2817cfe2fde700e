package broker

import (
	"fmt"
	"time"
)

// firesBefore orders timers by deadline, and those of one deadline by when they started.
func firesBefore(a, b *record) bool {
	if a.deadline != b.deadline {
		return a.deadline < b.deadline
	}
	return a.seq < b.seq
}

func (r *record) setArmed(index int) { r.armed = index }

// running returns why the nack timer does not run; nil: it runs.
func (r *record) running(now time.Duration) error {
	if r.armed < 0 {
		return fmt.Errorf("%w: its timer is paused; resume it first", ErrNackTimeoutReached)
	}
	if r.deadline <= now {
		return fmt.Errorf("%w %v ago", ErrNackTimeoutReached, now-r.deadline)
	}
	return nil
}

func (b *EvalBroker) arm(r *record, deadline time.Duration) {
	b.seq++
	r.deadline, r.seq = deadline, b.seq
	if r.armed < 0 {
		b.deadlines.Push(r)
	} else {
		b.deadlines.Fix(r.armed)
	}
}

func (b *EvalBroker) disarm(r *record) {
	if r.armed >= 0 {
		b.deadlines.Remove(r.armed)
	}
}

// NextDeadline returns when the next timer is due; false: none runs.
func (b *EvalBroker) NextDeadline() (time.Time, bool) {
	if b.deadlines.Len() == 0 {
		return time.Time{}, false
	}
	return b.epoch.Add(b.deadlines.Items[0].deadline), true
}

// Advance fires the nack timers, waits and redelivery delays that are due at now, in the
// order of their deadlines and each as of its own. One late Advance has the effect of many
// in time. It reports whether any fired.
func (b *EvalBroker) Advance(now time.Time) bool {
	at, fired := b.at(now), false
	for b.deadlines.Len() > 0 && b.deadlines.Items[0].deadline <= at {
		b.fire(b.deadlines.Items[0])
		fired = true
	}
	return fired
}

func (b *EvalBroker) fire(r *record) {
	switch r.place {
	case placeUnacked:
		b.nack(r.deadline, r)
	case placeRedeliver:
		b.endWait(r)
		b.makeReady(r, r.eval.Type, r.deadline)
	case placeDelayed:
		b.endWait(r)
		delete(b.tracked, r.eval.ID)
		b.admit(r.deadline, r.eval)
	}
}

func (b *EvalBroker) endWait(r *record) {
	b.disarm(r)
	b.counts.Waiting--
}

// DropWaiting forgets an evaluation whose Wait or WaitUntil has not passed, because what it
// was to handle did not come about (nomad/fsm.go of 1.10.2, a client that reconnects). It
// reports whether there was one. It does not drop one that waits for redelivery.
func (b *EvalBroker) DropWaiting(evalID string) bool {
	r := b.tracked[evalID]
	if r == nil || r.place != placeDelayed {
		return false
	}
	b.endWait(r)
	delete(b.tracked, evalID)
	return true
}

// Outstanding returns the token under which an evaluation is unacked; false: it is not.
func (b *EvalBroker) Outstanding(evalID string) (token string, ok bool) {
	r := b.tracked[evalID]
	if r == nil || r.place != placeUnacked {
		return "", false
	}
	return r.token, true
}

// OutstandingReset restarts the nack timer of a delivery whose holder is still at work. Its
// errors are those of Ack.
func (b *EvalBroker) OutstandingReset(now time.Time, evalID, token string) error {
	r, at, err := b.timed("reset", now, evalID, token, false)
	if err == nil {
		b.arm(r, later(at, b.cfg.NackTimeout))
	}
	return err
}

// PauseNackTimeout stops the nack timer of a delivery while its plan is in the plan queue,
// however long that takes. Its errors are those of Ack.
func (b *EvalBroker) PauseNackTimeout(now time.Time, evalID, token string) error {
	r, _, err := b.timed("pause", now, evalID, token, false)
	if err == nil {
		b.disarm(r)
	}
	return err
}

// ResumeNackTimeout restarts the nack timer of a delivery from the beginning, even one that
// was not paused, unless it is due. Its errors are those of Ack.
func (b *EvalBroker) ResumeNackTimeout(now time.Time, evalID, token string) error {
	r, at, err := b.timed("resume", now, evalID, token, true)
	if err == nil {
		b.arm(r, later(at, b.cfg.NackTimeout))
	}
	return err
}

// timed finds the delivery whose nack timer a call names, and verifies that the timer runs
// or, if it may be, is paused.
func (b *EvalBroker) timed(call string, now time.Time, evalID, token string, paused bool) (*record, time.Duration, error) {
	r, err := b.outstanding(evalID, token)
	var at time.Duration
	if err == nil {
		at = b.at(now)
		if r.armed >= 0 || !paused {
			err = r.running(at)
		}
	}
	if err != nil {
		return nil, 0, fmt.Errorf("nack timer %s of evaluation %q: %w", call, evalID, err)
	}
	return r, at, nil
}
