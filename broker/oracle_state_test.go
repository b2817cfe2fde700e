package broker_test

import (
	"cmp"
	"slices"

	"github.com/simctl/simctl/broker"
)

// state returns what broker.EvalBroker.State should. The order of Cancelable is one of those
// that the broker may use.
func (o *oracle) state() broker.State {
	s := broker.State{Enabled: o.enabled, Cancelable: o.cancelable}
	for _, it := range o.items {
		h := broker.Held{Eval: it.eval, Queue: it.queue, Deliveries: it.deliveries, Requeue: it.requeue}
		if it.timer {
			h.Deadline = it.due
		}
		switch it.where {
		case "ready":
			s.Ready = append(s.Ready, h)
		case "unacked":
			h.Token, h.Paused = it.token, !it.timer
			s.Unacked = append(s.Unacked, h)
		case "waiting", "redelivery":
			h.Redelivery = it.where == "redelivery"
			s.Waiting = append(s.Waiting, h)
		case "pending":
			s.Pending = append(s.Pending, h)
		}
	}
	slices.SortFunc(s.Ready, func(a, b broker.Held) int {
		return cmp.Or(cmp.Compare(a.Queue, b.Queue), readyOrder(a.Eval, b.Eval))
	})
	slices.SortFunc(s.Unacked, func(a, b broker.Held) int { return cmp.Compare(a.Eval.ID, b.Eval.ID) })
	slices.SortStableFunc(s.Waiting, func(a, b broker.Held) int { return a.Deadline.Compare(b.Deadline) })
	slices.SortFunc(s.Pending, func(a, b broker.Held) int {
		x, y := a.Eval.Job(), b.Eval.Job()
		return cmp.Or(cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.ID, y.ID), o.pendingOrder(a.Eval, b.Eval))
	})
	return s
}

// stats counts what state lists.
func (o *oracle) stats() broker.Stats {
	s := broker.Stats{Cancelable: len(o.cancelable), ByScheduler: map[string]broker.SchedulerStats{}}
	for _, it := range o.items {
		q := s.ByScheduler[it.queue]
		switch it.where {
		case "ready":
			s.Ready++
			q.Ready++
			if it.queue == broker.FailedQueue {
				s.Failed++
			}
		case "unacked":
			s.Unacked++
			q.Unacked++
		case "pending":
			s.Pending++
			continue
		default:
			s.Waiting++
			continue
		}
		s.ByScheduler[it.queue] = q
	}
	return s
}
