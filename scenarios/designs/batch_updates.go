package designs

import (
	"time"

	"github.com/simctl/simctl/cluster"
)

func init() {
	register(Design{
		Word:    "batch-updates",
		Summary: "the leader gathers the updates of evaluations by workers for 10 ms into one entry",
		Source:  "nomad/node_endpoint.go does so with the updates of allocations",
		Cost:    "an update takes up to 10 ms longer, and so does the job's next evaluation",
		Apply:   func(c *cluster.DesignConfig) { c.UpdateWindow = 10 * time.Millisecond },
	})
}
