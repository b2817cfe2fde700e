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

// rule is a decision of a policy that a word of its name can replace.
type rule uint8

const (
	order   rule = iota // which pending evaluation is the best
	ack                 // what an ack sheds
	enqueue             // what is shed while the job is busy
	rules
)

// change is a word and the rule that it replaces, by less or by shed.
type change struct {
	word, description string
	rule              rule
	less              func(a, b *Evaluation) bool
	shed              func(PendingEvaluations) []*Evaluation
}

// changes are sorted by rule.
var changes = []change{
	{"oldest-first", "the best pending evaluation is the one created first", order, legacy{}.Less, nil},
	{"newest-first", "the best is the one modified last", order, modifiedLast, nil},
	{"priority-first", "the best is the one of highest priority and then modified last", order, shedding{}.Less, nil},
	{"ack-keeps-all", "an ack sheds nothing", ack, nil, legacy{}.Shed},
	{"ack-keeps-best", "an ack sheds all pending evaluations of the job but the best", ack, nil, shedding{}.Shed},
	{"ack-keeps-none", "an ack sheds all of them", ack, nil, shedAll},
	{"enqueue-keeps-best", "whenever an evaluation becomes pending, all of the job but the best are shed", enqueue, nil, shedding{}.Shed},
	{"enqueue-keeps-none", "whenever an evaluation becomes pending, it is shed", enqueue, nil, shedAll},
}

func modifiedLast(a, b *Evaluation) bool { return a.ModifyIndex > b.ModifyIndex }

func shedAll(pending PendingEvaluations) []*Evaluation {
	return pending.RemoveFunc(func(*Evaluation) bool { return true })
}

// changed is a policy some of whose rules are replaced. The Policy is the value, not a
// pointer to it, so that equal ones are equal.
type changed struct {
	Policy
	by [rules]*change // nil: the rule is the policy's own
}

// change applies one word and reports true, unless there is no such word or its rule is
// changed already.
func (c *changed) change(word string) bool {
	for i := range changes {
		if ch := &changes[i]; ch.word == word && c.by[ch.rule] == nil {
			c.by[ch.rule] = ch
			return true
		}
	}
	return false
}

// policy returns the simplest policy that follows the rules.
func (c changed) policy() Policy {
	_, sheds := c.Policy.(EnqueueShedder)
	switch {
	case c.by == [rules]*change{}:
		return c.Policy
	case sheds || c.by[enqueue] != nil:
		return changedOnEnqueue{c}
	}
	return c
}

func (c changed) String() string {
	name := c.Policy.String()
	for _, ch := range c.by {
		if ch != nil {
			name += "+" + ch.word
		}
	}
	return name
}

func (c changed) Less(a, b *Evaluation) bool {
	if ch := c.by[order]; ch != nil {
		return ch.less(a, b)
	}
	return c.Policy.Less(a, b)
}

func (c changed) Shed(pending PendingEvaluations) []*Evaluation {
	if ch := c.by[ack]; ch != nil {
		return ch.shed(pending)
	}
	return c.Policy.Shed(pending)
}

// changedOnEnqueue is apart because each enqueue calls an EnqueueShedder.
type changedOnEnqueue struct{ changed }

func (c changedOnEnqueue) ShedOnEnqueue(pending PendingEvaluations) []*Evaluation {
	if ch := c.by[enqueue]; ch != nil {
		return ch.shed(pending)
	}
	return c.Policy.(EnqueueShedder).ShedOnEnqueue(pending)
}
