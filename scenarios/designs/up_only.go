package designs

import "github.com/simctl/simctl/cluster"

func init() {
	register(Design{
		Word:    "up-only",
		Summary: "a node that goes down calls for no evaluations of system jobs",
		Source:  "asked for in nomad #12981, open since 2022",
		Cost:    "allocations of system jobs stay running in the state until their nodes return or the jobs are evaluated for another reason",
		Apply:   func(c *cluster.DesignConfig) { c.DownSkipsSystem = true },
	})
}
