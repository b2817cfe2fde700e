package scenarios

import (
	"errors"
	"fmt"
)

// history is what has happened in a scenario so far, as far as later events depend on it.
type history struct {
	started  bool // the clients
	behaving map[string]bool
}

// happens adds an action, or says why it cannot come now.
func (h *history) happens(a Action) error {
	switch a := a.(type) {
	case StartClients:
		if h.started {
			return errors.New("the clients have been started already")
		}
		h.started = true
	case BeginBehaviour:
		switch {
		case !h.started:
			return h.notStarted()
		case h.behaving[a.Behaviour.Name]:
			return fmt.Errorf("behaviour %s has begun already: end it first", a.Behaviour.Name)
		case h.behaving == nil:
			h.behaving = map[string]bool{}
		}
		h.behaving[a.Behaviour.Name] = true
	case EndBehaviour:
		if !h.behaving[a.Behaviour] {
			return fmt.Errorf("behaviour %s has not begun", a.Behaviour)
		}
		h.behaving[a.Behaviour] = false
	case StopClients, ResumeClients, FlapClients, SkewClocks, groupStops, groupResumes:
		if !h.started {
			return h.notStarted()
		}
	}
	return nil
}

func (h *history) notStarted() error {
	return errors.New("there are no clients yet: start_clients must come first")
}
