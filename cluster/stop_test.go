package cluster

import (
	"errors"
	"testing"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/cluster/internal/server"
	"github.com/simctl/simctl/internal/virtualtest"
)

// TestAStoppedServerWritesNothing: what comes to write when the writer has stopped is told
// so at once, and is not left waiting, which once kept a server from ever stopping.
func TestAStoppedServerWritesNothing(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		c := startCluster(t, Config{Seed: 1})
		leader := c.server(c.Leader())
		if err := c.StopServer(leader.ID()); err != nil {
			t.Fatal(err)
		}
		_, err := leader.Write(fsm.EvalUpdate.With(&fsm.EvalUpdateRequest{Evals: []*broker.Evaluation{{ID: "e"}}}))
		if !errors.Is(err, server.ErrStopped) {
			t.Errorf("a write on a stopped server: %v, want %v", err, server.ErrStopped)
		}
	})
}
