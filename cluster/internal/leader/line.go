package leader

import (
	"slices"
	"time"

	"github.com/simctl/simctl/broker"
)

// Line is the workers that wait for evaluations, in order of arrival, each by a ticket of its
// own. It is what of EvalService needs neither clock nor goroutines.
type Line[T comparable] struct{ waiting []place[T] }

type place[T comparable] struct {
	ticket     T
	schedulers []string
}

// source is what a broker is to those who wait for it.
type source interface {
	Enabled() bool
	HasReady() bool
	Deliver(now time.Time, schedulers []string) (broker.Delivery, error)
}

// Join takes a place at the end of the line for somebody whom the broker had nothing for.
func (l *Line[T]) Join(ticket T, schedulers []string) {
	l.waiting = append(l.waiting, place[T]{ticket, schedulers})
}

// Serve answers those in line that can be answered, and takes them out.
func (l *Line[T]) Serve(b source, now time.Time, answer func(ticket T, d broker.Delivery, err error)) {
	if len(l.waiting) == 0 || b.Enabled() && !b.HasReady() {
		return
	}
	still := l.waiting[:0]
	for _, p := range l.waiting {
		d, err := b.Deliver(now, p.schedulers)
		if d.Eval == nil && err == nil {
			still = append(still, p)
			continue
		}
		answer(p.ticket, d, err)
	}
	clear(l.waiting[len(still):])
	l.waiting = still
}

// Leave takes a ticket out of the line, and reports false if it was answered meanwhile.
func (l *Line[T]) Leave(ticket T) bool {
	i := slices.IndexFunc(l.waiting, func(p place[T]) bool { return p.ticket == ticket })
	if i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
	}
	return i >= 0
}

// Clone returns a copy that nothing done to l changes.
func (l *Line[T]) Clone() Line[T] { return Line[T]{slices.Clone(l.waiting)} }

// Tickets returns who waits, in order.
func (l *Line[T]) Tickets() []T {
	all := make([]T, len(l.waiting))
	for i, p := range l.waiting {
		all[i] = p.ticket
	}
	return all
}
