package scenarios

import (
	"errors"
	"time"
)

// Events on a group of clients: what other events do to a share of all of them.

// onGroup is an action on the nodes of a group, which are known when it happens.
type onGroup struct {
	group  string
	mark   string
	action func(ids []string) Action
}

func (a onGroup) Mark() string    { return a.mark }
func (a onGroup) do(r *run) error { return a.action(r.fleet.IDsInGroup(a.group)).do(r) }

// someWord is which nodes an event is about.
type someWord struct {
	Group    string  `lang:"ref=group"`
	Fraction float64 `lang:"max=1"`
}

// each makes the action for a share of all nodes, or for a group.
func (w someWord) each(mark string, action func(ids []string, fraction float64) Action) (Action, error) {
	switch {
	case (w.Group == "") == (w.Fraction == 0):
		return nil, errors.New("it must say which nodes: a group, or a fraction of all")
	case w.Group == "":
		return action(nil, w.Fraction), nil
	}
	return onGroup{w.Group, "group " + w.Group + mark, func(ids []string) Action { return action(ids, 0) }}, nil
}

type drainWord struct {
	someWord
	Deadline         time.Duration
	IgnoreSystemJobs bool
}

func (w drainWord) build(*builder) (Action, error) {
	return w.each(" drains", func(ids []string, fraction float64) Action {
		return DrainNodes{Nodes: ids, Fraction: fraction, Deadline: w.Deadline, IgnoreSystemJobs: w.IgnoreSystemJobs}
	})
}

type endDrainsWord struct{ someWord }

func (w endDrainsWord) build(*builder) (Action, error) {
	return w.each(" drains no more", func(ids []string, fraction float64) Action { return EndDrains{Nodes: ids, Fraction: fraction} })
}

type eligibilityWord struct {
	someWord
	Eligible bool
}

func (w eligibilityWord) build(*builder) (Action, error) {
	mark := " becomes ineligible"
	if w.Eligible {
		mark = " becomes eligible"
	}
	return w.each(mark, func(ids []string, fraction float64) Action {
		return SetEligibility{Nodes: ids, Fraction: fraction, Eligible: w.Eligible}
	})
}

// stopClientsWord silences a share of the clients, or a group.
type stopClientsWord struct {
	Group    string  `lang:"ref=group"`
	Fraction float64 `lang:"max=1"`
	For      time.Duration
}

func (w stopClientsWord) build(*builder) (Action, error) {
	if w.Group == "" {
		return StopClients{Fraction: w.Fraction, For: w.For}, nil
	}
	if w.Fraction != 1 || w.For != 0 {
		return nil, errors.New("a group stops as a whole and until resume_clients: leave out fraction and for, or use a behaviour")
	}
	return groupStops{w.Group}, nil
}

// groupStops silences the clients of a group.
type groupStops struct{ group string }

func (a groupStops) Mark() string { return "the clients of group " + a.group + " stop" }

func (a groupStops) do(r *run) error {
	r.fleet.StopClients(r.fleet.InGroup(a.group))
	return nil
}

// resumeClientsWord brings back every client, or those of a group.
type resumeClientsWord struct {
	Group string `lang:"ref=group"`
}

func (w resumeClientsWord) build(*builder) (Action, error) {
	if w.Group == "" {
		return ResumeClients{}, nil
	}
	return groupResumes{w.Group}, nil
}

type groupResumes struct{ group string }

func (a groupResumes) Mark() string { return "the clients of group " + a.group + " are back" }

func (a groupResumes) do(r *run) error {
	r.fleet.StartClients(r.fleet.InGroup(a.group))
	return nil
}
