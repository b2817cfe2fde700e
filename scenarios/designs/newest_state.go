package designs

import "github.com/simctl/simctl/cluster"

func init() {
	register(Design{
		Word:    "newest-state",
		Summary: "a worker waits until its server has applied all that the leader had applied when it gave out the evaluation",
		Source:  "nomad/eval_endpoint.go, Dequeue, answers with an index to wait for: that of the newest evaluation of the job",
		Cost:    "a worker of a follower waits for the next message of the leader, or longer if its server lags behind",
		With:    []string{"skip-queued"},
		Apply:   func(c *cluster.DesignConfig) { c.NewestState = true },
	})
}
