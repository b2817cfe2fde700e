package broker

import (
	"fmt"
	"strings"
)

// PolicyByName returns the policy that a name describes: the name of a registered one and,
// after plus signs, changes to it, as in `shedding+oldest-first` or `shedding+dedup-leak`.
// The error lists what there is.
func PolicyByName(name string) (Policy, error) {
	words := strings.Split(name, "+")
	base, ok := registered(words[0])
	if !ok {
		return nil, fmt.Errorf("unknown broker policy %q: use %s", name, PolicySyntax())
	}
	c := changed{Policy: base}
	var quirks Quirks
	for _, word := range words[1:] {
		if !c.change(word) && !quirks.add(word) {
			return nil, fmt.Errorf("broker policy %q: unknown or repeated change %q: use %s", name, word, PolicySyntax())
		}
	}
	return WithQuirks(c.policy(), quirks), nil
}

// PolicySyntax returns a phrase that says which names PolicyByName accepts.
func PolicySyntax() string {
	var words []string
	for _, ch := range changes {
		words = append(words, ch.word)
	}
	for _, d := range defects {
		words = append(words, d.word)
	}
	names := registeredNames()
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last] +
		", if need be with changes, as in shedding+dedup-leak: " + strings.Join(words, ", ")
}

// PolicyNames returns names to choose from: those of the registered policies, legacy and
// shedding first, and then variants that show one defect or one other rule each.
// PolicyByName accepts more.
func PolicyNames() []string {
	return append(registeredNames(),
		"legacy+last-slot-peek", "shedding+last-slot-peek", "shedding+dedup-leak", "shedding+silent-timings",
		"shedding+enqueue-keeps-best")
}

func registeredNames() []string {
	var names []string
	for _, r := range registry {
		names = append(names, r.String())
	}
	return names
}

// ordering is which pending evaluation is the best.
type ordering uint8

const (
	orderUnchanged ordering = iota
	oldestFirst             // lowest CreateIndex
	newestFirst             // highest ModifyIndex
	priorityFirst           // highest Priority, then highest ModifyIndex
)

// keep is which pending evaluations a rule does not shed.
type keep uint8

const (
	keepUnchanged keep = iota
	keepAll
	keepBest
	keepNone
)

// changed is a policy some of whose rules are replaced. The Policy is the value, not a
// pointer to it, so that equal ones are equal.
type changed struct {
	Policy
	order   ordering
	ack     keep
	enqueue keep
}

// changes are the words for the rules, in the order in which a name has them.
var changes = []struct {
	word, description string
	changed
}{
	{"oldest-first", "the best pending evaluation is the one created first", changed{order: oldestFirst}},
	{"newest-first", "the best is the one modified last", changed{order: newestFirst}},
	{"priority-first", "the best is the one of highest priority and then modified last", changed{order: priorityFirst}},
	{"ack-keeps-all", "an ack sheds nothing", changed{ack: keepAll}},
	{"ack-keeps-best", "an ack sheds all pending evaluations of the job but the best", changed{ack: keepBest}},
	{"ack-keeps-none", "an ack sheds all of them", changed{ack: keepNone}},
	{"enqueue-keeps-best", "whenever an evaluation becomes pending, all of the job but the best are shed", changed{enqueue: keepBest}},
	{"enqueue-keeps-none", "whenever an evaluation becomes pending, it is shed", changed{enqueue: keepNone}},
}

// change applies one word and reports true, unless there is no such word or its rule is
// changed already.
func (c *changed) change(word string) bool {
	for _, ch := range changes {
		if ch.word != word {
			continue
		}
		switch {
		case ch.order != 0 && c.order == 0:
			c.order = ch.order
		case ch.ack != 0 && c.ack == 0:
			c.ack = ch.ack
		case ch.enqueue != 0 && c.enqueue == 0:
			c.enqueue = ch.enqueue
		default:
			return false
		}
		return true
	}
	return false
}

// policy returns the simplest policy that follows the rules.
func (c changed) policy() Policy {
	_, sheds := c.Policy.(EnqueueShedder)
	switch {
	case c == (changed{Policy: c.Policy}):
		return c.Policy
	case sheds || c.enqueue != keepUnchanged:
		return changedOnEnqueue{c}
	}
	return c
}

func (c changed) String() string {
	name := c.Policy.String()
	for _, ch := range changes {
		if ch.order != 0 && ch.order == c.order || ch.ack != 0 && ch.ack == c.ack || ch.enqueue != 0 && ch.enqueue == c.enqueue {
			name += "+" + ch.word
		}
	}
	return name
}

func (c changed) Less(a, b *Evaluation) bool {
	switch c.order {
	case oldestFirst:
		return a.CreateIndex < b.CreateIndex
	case newestFirst:
		return a.ModifyIndex > b.ModifyIndex
	case priorityFirst:
		return shedding{}.Less(a, b)
	}
	return c.Policy.Less(a, b)
}

func (c changed) Shed(pending PendingEvaluations) []*Evaluation {
	if c.ack == keepUnchanged {
		return c.Policy.Shed(pending)
	}
	return c.ack.shed(pending)
}

// changedOnEnqueue is apart because being an EnqueueShedder costs every enqueue a call.
type changedOnEnqueue struct{ changed }

func (c changedOnEnqueue) ShedOnEnqueue(pending PendingEvaluations) []*Evaluation {
	if c.enqueue == keepUnchanged {
		return c.Policy.(EnqueueShedder).ShedOnEnqueue(pending)
	}
	return c.enqueue.shed(pending)
}

// shed removes the pending evaluations that are not kept.
func (k keep) shed(pending PendingEvaluations) []*Evaluation {
	switch k {
	case keepBest:
		return pending.KeepBest()
	case keepNone:
		return pending.RemoveFunc(func(*Evaluation) bool { return true })
	}
	return nil
}
