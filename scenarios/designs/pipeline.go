package designs

import "github.com/simctl/simctl/cluster"

func init() {
	register(Design{
		Word:    "pipeline",
		Summary: "so many plans may be on their way to the log at a time; the applier verifies the next on a state that takes them for granted",
		Source:  "nomad/plan_apply.go since 2.0.5 (#28249, plan_apply_pipeline), as mended by #28452",
		Cost:    "while plans keep coming the state is never renewed: a node that went down meanwhile still gets allocations",
		Numbered: &Numbered{Least: 1, Most: 16, Usual: 8, Apply: func(c *cluster.DesignConfig, n int) {
			c.Pipeline = n
		}},
	})
	register(Design{
		Word:    "nack-unseen",
		Summary: "a plan whose evaluation is newer than the state of the pipeline fails, though it is on its way to the log",
		Source:  "nomad/plan_apply.go in 2.0.5 (#28444), before #28452",
		Cost:    "its evaluation comes again after a second; a plan that is on its way for longer is made twice",
		With:    []string{"pipeline-8"},
		Apply:   func(c *cluster.DesignConfig) { c.NackUnseen = true },
	})
}
