package designs

import (
	"time"

	"github.com/simctl/simctl/cluster"
)

func init() {
	register(Design{
		Word:    "ask-client",
		Summary: "the leader asks a client that it has not heard of in time, over the client's connection, and marks its node down if no answer comes within 5 s",
		Source:  "asked for in #14474, which was closed unmerged; nomad/heartbeat.go marks the node down at once",
		Cost:    "a node that is gone is down 5 s later; the leader has a call under way for each",
		Apply:   func(c *cluster.DesignConfig) { c.AskTimeout = 5 * time.Second },
	})
}
