package designs

import "github.com/simctl/simctl/cluster"

func init() {
	register(Design{
		Word:    "skip-queued",
		Summary: "a change of a node writes no evaluation of a job that has one which no worker has yet",
		Source:  "the ideal that the announcement of 1.4.3 rejects",
		Cost:    "a worker of a server that lags behind may take that one with a state from before the change: a wake-up is lost",
		Apply:   func(c *cluster.DesignConfig) { c.SkipQueued = true },
	})
}
