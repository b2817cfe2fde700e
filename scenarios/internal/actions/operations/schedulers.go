package operations

import (
	"fmt"

	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/draw"
)

var _ = actions.RegisterAction("schedulers", SetSchedulers{}, actions.Drawn(actions.OfOperators, 4, 1, drawSchedulers))

// SetSchedulers sets num_schedulers on every server.
type SetSchedulers struct {
	PerServer int `lang:"required,max=1024"`
}

// EnablesSchedulers reports whether the servers have any afterwards.
func (a SetSchedulers) EnablesSchedulers() bool { return a.PerServer > 0 }

func (a SetSchedulers) Mark() string {
	if a.PerServer == 0 {
		return "schedulers off"
	}
	return fmt.Sprintf("schedulers on: %d a server", a.PerServer)
}

func (a SetSchedulers) Do(s *actions.Stage) error {
	s.SetSchedulers(a.PerServer)
	return nil
}

func drawSchedulers(s *draw.Source) draw.Event {
	return draw.NewEvent("schedulers", fmt.Sprintf("per_server = %d", 1+s.Rand.IntN(4)))
}
