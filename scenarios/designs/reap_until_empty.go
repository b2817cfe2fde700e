package designs

import "github.com/simctl/simctl/cluster"

func init() {
	register(Design{
		Word:    "reap-until-empty",
		Summary: "the reaper of shed evaluations writes batch after batch until none is left",
		Source:  "nomad/leader.go, reapCancelableEvaluations, writes one on each wake-up",
		Cost:    "entries of 245 kB follow one another while a large set is written off",
		Apply:   func(c *cluster.DesignConfig) { c.ReapUntilEmpty = true },
	})
}
