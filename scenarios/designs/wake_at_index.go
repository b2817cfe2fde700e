package designs

import "github.com/simctl/simctl/cluster"

func init() {
	register(Design{
		Word:    "wake-at-index",
		Summary: "a worker that waits for an index goes on when its server has applied it",
		Source:  "nomad/state/state_store.go, SnapshotMinIndex, polls; its own comment asks for this",
		Cost:    "a wake-up of all waiting workers for each entry",
		Apply:   func(c *cluster.DesignConfig) { c.WakeAtIndex = true },
	})
}
