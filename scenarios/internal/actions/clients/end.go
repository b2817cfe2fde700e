package clients

import (
	"fmt"

	"github.com/simctl/simctl/scenarios/internal/actions"
)

// Soak ends every behaviour that it begins, so none is drawn.
var _ = actions.RegisterAction("end", EndBehaviour{}, actions.Soak{})

// EndBehaviour ends a behaviour. The clients it has silenced come back, unless Leave is set.
type EndBehaviour struct {
	Behaviour string `lang:"required,ref=behaviour"`
	Leave     bool
}

func (a EndBehaviour) Follow(h *actions.History) error {
	if !h.Behaving[a.Behaviour] {
		return fmt.Errorf("behaviour %s has not begun", a.Behaviour)
	}
	h.Behaving[a.Behaviour] = false
	return nil
}

func (a EndBehaviour) Mark() string              { return a.Behaviour + " ends" }
func (a EndBehaviour) Do(s *actions.Stage) error { return s.EndBehaviour(a.Behaviour, a.Leave) }
