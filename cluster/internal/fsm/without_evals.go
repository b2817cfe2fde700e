package fsm

import (
	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/state"
)

// WithoutEvals takes the evaluations out of a command, for servers that write none
// (config.DesignConfig, WorkQueue). It reports false if nothing is left to write. The command
// must not be used any more; its request becomes the rest's.
func (c Command) WithoutEvals() (rest Command, evals []*broker.Evaluation, ok bool) {
	one := func(e **broker.Evaluation) { evals, *e = oneOrNone(*e), nil }
	all := func(list *[]*broker.Evaluation) { evals, *list = *list, nil }
	switch r := c.req.(type) {
	case *EvalUpdateRequest:
		return Command{}, r.Evals, false
	case *JobRegisterRequest:
		one(&r.Eval)
	case *JobDeregisterRequest:
		one(&r.Eval)
	case *DeploymentStatusRequest:
		one(&r.Eval)
	case *JobBatchDeregisterRequest:
		all(&r.Evals)
	case *AllocClientUpdateRequest:
		all(&r.Evals)
	case *DesiredTransitionRequest:
		all(&r.Evals)
	case *NodesDownRequest:
		all(&r.Evals)
	case *state.PlanResults:
		r.EvalID = ""
	}
	return c, evals, true
}
