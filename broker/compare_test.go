package broker_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/simctl/simctl/broker"
)

// compare returns the first difference between the broker and the oracle as an error.
func (d *driver) compare() error {
	got, want := d.b.State(), d.o.state()
	if err := got.Check(); err != nil {
		return err
	}
	if !same(got, want) {
		return fmt.Errorf("states differ:\nbroker %s\noracle %s", describe(got), describe(want))
	}
	if got, want := d.b.Stats(), d.o.stats(); !equalStats(got, want) {
		return fmt.Errorf("stats differ:\nbroker %+v\noracle %+v", got, want)
	}
	at, ok := d.b.NextDeadline()
	if first := d.o.first(); ok != (first != nil) || ok && !at.Equal(first.due) {
		return fmt.Errorf("next deadline: broker %v, %v; oracle %+v", at, ok, first)
	}
	return nil
}

// same compares states. It compares the cancelable evaluations as a set, for the order of
// those that one call sheds is the broker's own.
func same(a, b broker.State) bool {
	if len(a.Cancelable) != len(b.Cancelable) {
		return false
	}
	count := make(map[*broker.Evaluation]int)
	for i := range a.Cancelable {
		count[a.Cancelable[i]]++
		count[b.Cancelable[i]]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return a.Enabled == b.Enabled && slices.Equal(a.Ready, b.Ready) && slices.Equal(a.Unacked, b.Unacked) &&
		slices.Equal(a.Waiting, b.Waiting) && slices.Equal(a.Pending, b.Pending)
}

// equalStats ignores scheduler types without evaluations.
func equalStats(a, b broker.Stats) bool {
	for _, s := range []broker.Stats{a, b} {
		for name, q := range s.ByScheduler {
			if q == (broker.SchedulerStats{}) {
				delete(s.ByScheduler, name)
			}
		}
	}
	return reflect.DeepEqual(a, b)
}

// describe prints a state with the pointers of its evaluations.
func describe(s broker.State) string {
	out := fmt.Sprintf("enabled %v", s.Enabled)
	for _, l := range []struct {
		name string
		held []broker.Held
	}{{"ready", s.Ready}, {"unacked", s.Unacked}, {"waiting", s.Waiting}, {"pending", s.Pending}} {
		for _, h := range l.held {
			out += fmt.Sprintf("; %s %s %p", l.name, h.Eval.ID, h.Eval)
			if h.Deliveries > 0 || h.Queue != "" {
				out += fmt.Sprintf(" %d times from %q", h.Deliveries, h.Queue)
			}
			if !h.Deadline.IsZero() {
				out += fmt.Sprintf(" until %v", h.Deadline)
			}
			if h.Token != "" || h.Paused || h.Redelivery || h.Requeue != nil {
				out += fmt.Sprintf(" token %q, paused %v, redelivery %v, requeue %s", h.Token, h.Paused, h.Redelivery, brief(h.Requeue))
			}
		}
	}
	out += "; cancelable"
	for _, e := range s.Cancelable {
		out += fmt.Sprintf(" %s %p", e.ID, e)
	}
	return out
}

func brief(e *broker.Evaluation) string {
	if e == nil {
		return "none"
	}
	out := fmt.Sprintf("%s of %s/%s (%s, priority %d, create %d, modify %d", e.ID, e.Namespace, e.JobID, e.Type, e.Priority, e.CreateIndex, e.ModifyIndex)
	if e.Wait > 0 {
		out += fmt.Sprintf(", wait %v", e.Wait)
	}
	if !e.WaitUntil.IsZero() {
		out += fmt.Sprintf(", wait until %v", e.WaitUntil)
	}
	return out + ")"
}

// differ compares the answers to one operation.
func differ(op string, got, want error) error {
	if !errors.Is(got, want) || (got == nil) != (want == nil) {
		return fmt.Errorf("%s: broker answered %v, oracle %v", op, got, want)
	}
	return nil
}
