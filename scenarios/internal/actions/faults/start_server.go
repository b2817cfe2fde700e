package faults

import (
	"fmt"

	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/draw"
)

var _ = actions.RegisterAction("start_server", StartServer{}, actions.Drawn(actions.OfServers, 3, 1, drawStartServer))

// StartServer starts a killed server again.
type StartServer struct{ Server Server }

func (a StartServer) Check(n int) error { return a.Server.check(n) }
func (a StartServer) Mark() string      { return fmt.Sprintf("%v is started", a.Server) }

func (a StartServer) Do(s *actions.Stage) error {
	i, err := a.Server.pick(s.Cluster)
	if err != nil {
		return err
	}
	return s.StartServer(i)
}

func drawStartServer(s *draw.Source) draw.Event {
	return draw.NewEvent("start_server", "server = "+s.Numbered())
}
