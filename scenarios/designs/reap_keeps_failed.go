package designs

import "github.com/simctl/simctl/cluster"

func init() {
	register(Design{
		Word:    "reap-keeps-failed",
		Summary: "a batch that Raft did not write goes back to the broker",
		Source:  "nomad/leader.go drops it: its evaluations stay pending until the next leader restores them",
		Cost:    "nothing but the memory of the batch",
		Apply:   func(c *cluster.DesignConfig) { c.ReapKeepsFailed = true },
	})
}
