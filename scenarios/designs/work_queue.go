package designs

import "github.com/simctl/simctl/cluster"

func init() {
	register(Design{
		Word:    "work-queue",
		Summary: "the leader queues jobs to look at, each once, and writes no evaluations; a new leader looks at all jobs",
		Source:  "nomad/eval_broker.go queues evaluations, which are all in the log; controllers of Kubernetes do without (client-go, util/workqueue)",
		Cost:    "no record of what was looked at, why and when; no delivery limit; nobody can wait for an evaluation",
		Alone:   true,
		Apply:   func(c *cluster.DesignConfig) { c.WorkQueue = true },
	})
}
