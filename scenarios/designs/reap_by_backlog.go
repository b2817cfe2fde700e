package designs

import "github.com/simctl/simctl/cluster"

func init() {
	register(Design{
		Word:    "reap-by-backlog",
		Summary: "a batch of the reaper is a tenth of the shed evaluations, and 728 at least",
		Source:  "nomad/leader.go has 728 whatever the backlog",
		Cost:    "a batch of 5,000 evaluations is an entry of 1.7 MB, which holds up all entries behind it",
		Apply:   func(c *cluster.DesignConfig) { c.ReapShare = 0.1 },
	})
}
