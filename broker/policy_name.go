package broker

import (
	"fmt"
	"strings"
)

// PolicyByName returns the policy that a name describes: `legacy` or `shedding` and,
// after plus signs, changes to it, as in `shedding+oldest-first` or
// `shedding+dedup-leak`; see PolicySyntax. The error says what there is.
func PolicyByName(name string) (Policy, error) {
	words := strings.Split(name, "+")
	var c changed
	switch words[0] {
	case legacy{}.String():
		c.Policy = Legacy()
	case shedding{}.String():
		c.Policy = Shedding()
	default:
		return nil, fmt.Errorf("unknown broker policy %q: use %s", name, PolicySyntax())
	}
	var quirks Quirks
	for _, word := range words[1:] {
		if !c.change(word) && !quirks.add(word) {
			return nil, fmt.Errorf("broker policy %q: unknown or repeated change %q: use %s", name, word, PolicySyntax())
		}
	}
	return WithQuirks(c.policy(), quirks), nil
}

// PolicySyntax says in a phrase what names PolicyByName accepts.
func PolicySyntax() string {
	var words []string
	for _, ch := range changes {
		words = append(words, ch.word)
	}
	for _, d := range defects {
		words = append(words, d.word)
	}
	return "legacy or shedding, if need be with changes, as in shedding+dedup-leak: " + strings.Join(words, ", ")
}

// PolicyNames returns names to choose from: legacy and shedding first, then variants that
// show a known defect or another rule each. PolicyByName accepts more.
func PolicyNames() []string {
	return []string{
		"legacy", "shedding",
		"legacy+last-slot-peek", "shedding+last-slot-peek", "shedding+dedup-leak", "shedding+silent-timings",
		"shedding+enqueue-keeps-best",
	}
}

// ordering is which pending evaluation is the best.
type ordering uint8

const (
	orderUnchanged ordering = iota
	oldestFirst             // lowest CreateIndex
	newestFirst             // highest ModifyIndex
	priorityFirst           // highest Priority, then highest ModifyIndex
)

// keep is which pending evaluations are not shed.
type keep uint8

const (
	keepUnchanged keep = iota
	keepAll
	keepBest
	keepNone
)

// changed is a policy with other rules than its own where they are set. The value, not a
// pointer, is the Policy, so that equal ones are equal.
type changed struct {
	Policy
	order   ordering
	ack     keep
	enqueue keep
}

// changes are the words for the rules, in the order in which a name has them.
var changes = []struct {
	word string
	changed
}{
	{"oldest-first", changed{order: oldestFirst}},
	{"newest-first", changed{order: newestFirst}},
	{"priority-first", changed{order: priorityFirst}},
	{"ack-keeps-all", changed{ack: keepAll}},
	{"ack-keeps-best", changed{ack: keepBest}},
	{"ack-keeps-none", changed{ack: keepNone}},
	{"enqueue-keeps-best", changed{enqueue: keepBest}},
	{"enqueue-keeps-none", changed{enqueue: keepNone}},
}

// change applies one word; false: there is no such word, or its rule is changed already.
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
	switch {
	case c.enqueue != keepUnchanged:
		return changedOnEnqueue{c}
	case c.order != orderUnchanged || c.ack != keepUnchanged:
		return c
	}
	return c.Policy
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

func (c changed) Shed(pending *PendingEvaluations) []*Evaluation {
	if c.ack == keepUnchanged {
		return c.Policy.Shed(pending)
	}
	return pending.keep(c.ack)
}

// changedOnEnqueue is apart because being an EnqueueShedder costs every enqueue a call.
type changedOnEnqueue struct{ changed }

func (c changedOnEnqueue) ShedOnEnqueue(pending *PendingEvaluations) []*Evaluation {
	return pending.keep(c.enqueue)
}

func (p *PendingEvaluations) keep(k keep) []*Evaluation {
	switch k {
	case keepBest:
		return p.KeepBest()
	case keepNone:
		return p.RemoveFunc(func(*Evaluation) bool { return true })
	}
	return nil
}
