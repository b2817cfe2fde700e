package explore_test

import (
	"context"
	"fmt"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/broker/explore"
)

// impatient drops every trigger that comes while the job is being worked on.
type impatient struct{ broker.Policy }

func (impatient) String() string { return "impatient" }

func (impatient) ShedOnEnqueue(pending broker.PendingEvaluations) []*broker.Evaluation {
	return pending.RemoveFunc(func(*broker.Evaluation) bool { return true })
}

// A policy is a Go type; whatever it does not define itself comes from the one it embeds.
func ExampleRun() {
	bounds := explore.DefaultBounds()
	bounds.Snapshot = explore.SnapshotJob // as Nomad's workers wait for
	report, err := explore.Run(context.Background(), impatient{broker.Shedding()}, bounds, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Verdict())
	for i, step := range report.Violation.Steps {
		fmt.Printf("%d. %s\n", i+1, step)
	}
	fmt.Println(report.Violation.Detail)
	// Output:
	// VIOLATES "no lost wake-up" after 5 steps
	// 1. job a is triggered
	// 2. worker 1 dequeues an evaluation of job a
	// 3. job a is triggered
	// 4. worker 1 marks a1 complete
	// 5. worker 1 acks a1
	// job a was triggered at a2, no finished scheduling run has seen that, and none is to come
}
