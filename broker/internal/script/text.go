package script

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/simctl/simctl/broker"
)

func ackText(res broker.AckResult) string {
	out := "ok"
	if res.Shed > 0 {
		out += fmt.Sprintf(", shed %d", res.Shed)
		if res.ShedWaited > 0 {
			out += fmt.Sprintf(" (oldest waited %v)", res.ShedWaited)
		}
	}
	if res.Next != nil {
		out += ", next " + res.Next.ID
	}
	if !res.Timed {
		out += ", not timed"
	}
	return out
}

// errorText prints the sentinel's name and the whole error.
func (e *Env) errorText(err error) string {
	for _, s := range []struct {
		sentinel error
		name     string
	}{
		{broker.ErrDisabled, "ErrDisabled"},
		{broker.ErrNotOutstanding, "ErrNotOutstanding"},
		{broker.ErrTokenMismatch, "ErrTokenMismatch"},
		{broker.ErrNackTimeoutReached, "ErrNackTimeoutReached"},
	} {
		if errors.Is(err, s.sentinel) {
			return fmt.Sprintf("%s: %v", s.name, err)
		}
	}
	return fmt.Sprintf("unexpected error: %v", err)
}

// placeOf prints where the broker has this very evaluation, not another one of its ID.
func (e *Env) placeOf(ev *broker.Evaluation) string {
	st := e.b.State()
	is := func(h broker.Held) bool { return h.Eval == ev }
	switch {
	case slices.ContainsFunc(st.Ready, is):
		return "ready"
	case slices.ContainsFunc(st.Pending, is):
		return "pending"
	case slices.ContainsFunc(st.Waiting, is):
		return "waiting"
	case slices.Contains(st.Cancelable, ev):
		return "cancelable"
	case slices.ContainsFunc(st.Unacked, func(h broker.Held) bool { return h.Requeue == ev }):
		return "set aside"
	}
	return "ignored"
}

func (e *Env) statsText() string {
	s := e.b.Stats()
	out := []string{fmt.Sprintf("ready=%d unacked=%d pending=%d waiting=%d cancelable=%d failed=%d",
		s.Ready, s.Unacked, s.Pending, s.Waiting, s.Cancelable, s.Failed)}
	for _, name := range slices.Sorted(maps.Keys(s.ByScheduler)) {
		q := s.ByScheduler[name]
		out = append(out, fmt.Sprintf("%s: ready=%d unacked=%d", name, q.Ready, q.Unacked))
	}
	return strings.Join(out, "\n")
}

// stateText prints the state, a line for each queue that is not empty.
func (e *Env) stateText() string {
	st := e.b.State()
	var out []string
	// group starts a line, or continues the one before when the title is the same.
	last := ""
	group := func(title, item string) {
		if title == last {
			out[len(out)-1] += " " + item
			return
		}
		last = title
		out = append(out, title+": "+item)
	}
	for _, h := range st.Ready {
		group("ready "+h.Queue, h.Eval.ID)
	}
	for _, h := range st.Unacked {
		group("unacked", h.Eval.ID+e.unackedText(h))
	}
	for _, h := range st.Waiting {
		why := ""
		if h.Redelivery {
			why = fmt.Sprintf(", attempt %d", h.Deliveries+1)
		}
		group("waiting", fmt.Sprintf("%s(%v left%s)", h.Eval.ID, h.Deadline.Sub(e.now), why))
	}
	for _, h := range st.Pending {
		group(fmt.Sprintf("pending %s/%s", h.Eval.Namespace, h.Eval.JobID), h.Eval.ID)
	}
	if len(st.Cancelable) > 0 {
		out = append(out, "cancelable: "+names(st.Cancelable))
	}
	if len(out) == 0 {
		return "empty"
	}
	return strings.Join(out, "\n")
}

func (e *Env) unackedText(h broker.Held) string {
	left := "paused"
	if !h.Paused {
		left = fmt.Sprintf("%v left", h.Deadline.Sub(e.now))
	}
	out := fmt.Sprintf("(%s, %s", e.aliases[h.Token], left)
	if h.Requeue != nil {
		out += ", set aside " + h.Requeue.ID
	}
	return out + ")"
}

// names lists IDs, the first twelve of a longer list.
func names(evals []*broker.Evaluation) string {
	const most = 12
	var ids []string
	for i, ev := range evals {
		if i == most {
			return fmt.Sprintf("%s ... (%d in all)", strings.Join(ids, " "), len(evals))
		}
		ids = append(ids, ev.ID)
	}
	return strings.Join(ids, " ")
}
