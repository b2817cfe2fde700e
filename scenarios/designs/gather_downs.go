package designs

import (
	"time"

	"github.com/simctl/simctl/cluster"
)

func init() {
	register(Design{
		Word:    "gather-downs",
		Summary: "the leader gathers the nodes that fall silent within 500 ms into one entry, with one evaluation a job",
		Source:  "nomad/heartbeat.go writes two entries for each of them",
		Cost:    "a node is down up to 500 ms later; evaluations do not say for which nodes they are",
		Apply:   func(c *cluster.DesignConfig) { c.DownWindow = 500 * time.Millisecond },
	})
}
