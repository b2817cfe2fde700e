package designs

import "github.com/simctl/simctl/cluster"

func init() {
	register(Design{
		Word:    "restore-best",
		Summary: "a new leader restores one evaluation of each job, and writes the others off",
		Source:  "nomad/leader.go, restoreEvals, restores what was shed and not yet written off, too",
		Cost:    "the new leader sorts the pending evaluations by job before it serves",
		Apply:   func(c *cluster.DesignConfig) { c.RestoreBest = true },
	})
}
