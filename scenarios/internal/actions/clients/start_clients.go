package clients

import (
	"errors"

	"github.com/simctl/simctl/scenarios/internal/actions"
)

// Every schedule of soak begins with it, so none is drawn.
var _ = actions.RegisterAction("start_clients", StartClients{}, actions.Soak{})

// StartClients brings the whole fleet to life.
type StartClients struct{}

func (StartClients) Follow(h *actions.History) error {
	if h.Started {
		return errors.New("the clients have been started already")
	}
	h.Started = true
	return nil
}

func (StartClients) Mark() string { return "clients start" }

func (StartClients) Do(s *actions.Stage) error {
	s.Fleet.Start(s.Ctx)
	return nil
}
