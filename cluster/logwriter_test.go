package cluster

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/simctl/simctl/broker"
)

// TestAStoppedServerWritesNothing: what comes to write when the writer has stopped is told
// so at once, and is not left waiting, which once kept a server from ever stopping.
func TestAStoppedServerWritesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startCluster(t, Config{Seed: 1})
		leader := c.server(c.Leader())
		if err := c.StopServer(leader.id); err != nil {
			t.Fatal(err)
		}
		_, err := leader.raftApply(evalUpdateRequestType, &evalUpdateRequest{Evals: []*broker.Evaluation{{ID: "e"}}})
		if !errors.Is(err, errStopped) {
			t.Errorf("a write on a stopped server: %v, want %v", err, errStopped)
		}
	})
}
