package clients

import (
	"fmt"
	"strings"
	"time"

	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/behaviours"
	"github.com/simctl/simctl/scenarios/internal/draw"
)

var _ = actions.Register("begin", begin{}, begin.action, actions.Drawn(actions.OfClients, 5, 2, drawBehaviour))

type begin struct {
	Behaviour string `lang:"required,ref=behaviour"`
}

// Begins returns the name of the behaviour.
func (w begin) Begins() string { return w.Behaviour }

func (w begin) action(s *actions.Setting) (actions.Action, error) {
	return BeginBehaviour{Behaviour: s.Behaviours[w.Behaviour]}, nil
}

// BeginBehaviour lets the clients behave that way from now on.
type BeginBehaviour struct {
	actions.Anywhere
	Behaviour *behaviours.Behaviour
}

func (a BeginBehaviour) Follow(h *actions.History) error {
	if err := h.NeedsClients(); err != nil {
		return err
	}
	if h.Behaving[a.Behaviour.Name] {
		return begun(a.Behaviour.Name)
	}
	if h.Behaving == nil {
		h.Behaving = map[string]bool{}
	}
	h.Behaving[a.Behaviour.Name] = true
	return nil
}

func begun(behaviour string) error {
	return fmt.Errorf("behaviour %s has begun already: end it first", behaviour)
}

func (a BeginBehaviour) Mark() string { return a.Behaviour.Name + " begins" }

func (a BeginBehaviour) Do(s *actions.Stage) error {
	if s.Behaves(a.Behaviour.Name) { // the events of a text that was sent later began it earlier
		return begun(a.Behaviour.Name)
	}
	s.BeginBehaviour(a.Behaviour)
	return nil
}

// drawBehaviour lets clients do something by themselves until shortly before everything heals.
func drawBehaviour(s *draw.Source) draw.Event {
	s.Behaviours++
	name := fmt.Sprintf("behaviour%d", s.Behaviours)
	mean := s.Delay(5*time.Second, 90*time.Second)
	format := s.Pick("%s", "uniform(\"1s\", %s)", "exponential(%s)", "normal(%s, \"10s\")")
	wait := fmt.Sprintf(format, mean)
	if strings.HasPrefix(format, "uniform") {
		wait = fmt.Sprintf(format, s.Delay(20*time.Second, 90*time.Second))
	}
	kind, lines, leave := behaviours.DrawKind(s, wait)
	lines = append(lines, "share = "+s.Between(0.05, 0.4))
	if s.Chance(1, 3) {
		lines = append(lines, fmt.Sprintf("group = %q", s.Group()))
	}
	if s.Chance(1, 3) {
		lines = append(lines, "together = \"rack\"")
	}
	e := draw.NewEvent("begin", fmt.Sprintf("behaviour = %q", name))
	e.Behaviour = fmt.Sprintf("behaviour %q %q {\n  %s\n}\n\n", kind, name, strings.Join(lines, "\n  "))
	e.End = fmt.Sprintf("  event \"end\" {\n    at = %s\n    behaviour = %q\n    leave = %t\n  }\n\n", s.Delay(3*time.Minute, 5*time.Minute), name, leave)
	return e
}

// Soak ends every behaviour that it begins, so none is drawn.
var _ = actions.RegisterAction("end", EndBehaviour{}, actions.Soak{})

// EndBehaviour ends a behaviour. The clients it has silenced come back, unless Leave is set.
type EndBehaviour struct {
	actions.Anywhere
	Behaviour string `lang:"required,ref=behaviour"`
	Leave     bool
}

func (a EndBehaviour) Follow(h *actions.History) error {
	if !h.Behaving[a.Behaviour] {
		return notBegun(a.Behaviour)
	}
	h.Behaving[a.Behaviour] = false
	return nil
}

func notBegun(behaviour string) error { return fmt.Errorf("behaviour %s has not begun", behaviour) }

func (a EndBehaviour) Mark() string { return a.Behaviour + " ends" }

func (a EndBehaviour) Do(s *actions.Stage) error {
	if !s.Behaves(a.Behaviour) { // the events of a text that was sent later ended it earlier
		return notBegun(a.Behaviour)
	}
	s.EndBehaviour(a.Behaviour, a.Leave)
	return nil
}
