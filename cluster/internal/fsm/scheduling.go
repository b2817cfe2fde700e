package fsm

import (
	"cmp"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/config"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

// EvalUpdateRequest writes evaluations, new and changed.
type EvalUpdateRequest struct {
	Evals []*broker.Evaluation
}

// copiedEvals returns the evaluations as decoding an entry would: WaitUntil has neither a monotonic clock nor a location.
func copiedEvals(evals []*broker.Evaluation) []*broker.Evaluation {
	copies := make([]*broker.Evaluation, len(evals))
	for i, e := range evals {
		copies[i] = e.Copy()
		copies[i].WaitUntil = e.WaitUntil.UTC().Round(0)
	}
	return copies
}

var EvalUpdate = Declare("EvalUpdateRequestType",
	perEval(func(r *EvalUpdateRequest) int { return len(r.Evals) }),
	func(tx *state.Tx, r *EvalUpdateRequest, fx *Effects) error { return writeEvals(tx, fx, r.Evals...) },
).lendable(func(r *EvalUpdateRequest) *EvalUpdateRequest { return &EvalUpdateRequest{copiedEvals(r.Evals)} })

var (
	NodeEvaluated   = EvalUpdate.because("changes of nodes that called for evaluations")
	ScaleEvaluated  = EvalUpdate.because("jobs scaled")
	EvalProcessed   = EvalUpdate.because("evaluations processed")
	EvalUnacked     = EvalUpdate.because("results of evaluations that no ack followed")
	EvalReblocked   = EvalUpdate.less("of these blocked again, which writes nothing")
	EvalSpawned     = EvalUpdate.because("evaluations made by workers")
	EvalsReaped     = EvalUpdate.because("batches of shed evaluations")
	DuplicateReaped = EvalUpdate.because("batches of blocked evaluations replaced by newer ones")
	EvalGivenUp     = EvalUpdate.because("evaluations delivered too often")
	JobEvaluated    = EvalUpdate.because("jobs evaluated for their users")
)

// PlanCost is the work of writing what has come of a plan to a state.
func PlanCost(r *state.PlanResults, c config.FSMCosts, s *state.Snapshot) config.Work {
	w := c.Placing(len(r.AllocsUpdated), s.Rows())
	w.Few += c.Entry + c.Plan + time.Duration(len(r.AllocsStopped))*(c.Alloc+c.Stop)
	if r.Deploys() {
		w.Few += c.Deployment
	}
	return w
}

// copiedPlan copies what the state takes over.
func copiedPlan(r *state.PlanResults) *state.PlanResults {
	c := *r
	c.AllocsUpdated = make([]*rpc.Allocation, len(r.AllocsUpdated))
	for i, a := range r.AllocsUpdated {
		c.AllocsUpdated[i] = a.Copy()
	}
	if r.Deployment != nil {
		c.Deployment = r.Deployment.Copy()
	}
	return &c
}

var ApplyPlanResults = Declare("ApplyPlanResultsRequestType",
	func(r *state.PlanResults, c config.FSMCosts, s *state.Store) config.Work {
		return PlanCost(r, c, s.Snapshot())
	},
	func(tx *state.Tx, r *state.PlanResults, fx *Effects) error {
		if err := tx.UpsertPlanResults(r); err != nil {
			return err
		}
		fx.Allocs = true
		if d := r.Deployment; d != nil {
			fx.deployment(d.Namespace, d.JobID)
		}
		for _, u := range r.DeploymentUpdates {
			fx.deployment(u.Namespace, u.JobID)
		}
		for _, a := range r.AllocsUpdated {
			if fx.deployed(a) {
				fx.deployment(a.Namespace, a.JobID)
			}
		}
		for _, stopped := range r.AllocsStopped {
			fx.deployed(tx.Alloc(stopped.ID))
		}
		return nil
	},
).lendable(copiedPlan)

var (
	PlanSubmitted = ApplyPlanResults.because("plans submitted")
	PlanEmpty     = ApplyPlanResults.less("of these refused whole")
)

// AllocClientUpdateRequest is what clients report of their allocations, and the
// evaluations that this calls for.
type AllocClientUpdateRequest struct {
	Alloc []*rpc.Allocation
	Evals []*broker.Evaluation
}

var AllocClientUpdate = Declare("AllocClientUpdateRequestType",
	func(r *AllocClientUpdateRequest, c config.FSMCosts, _ *state.Store) config.Work {
		return config.Work{Few: c.Entry + time.Duration(len(r.Alloc))*cmp.Or(c.Report, c.Alloc)}
	},
	func(tx *state.Tx, r *AllocClientUpdateRequest, fx *Effects) error {
		canceled := tx.EvalCount(broker.StatusCanceled)
		fx.Ended = tx.UpdateAllocsFromClient(r.Alloc...)
		fx.Counters.EvalsCanceled += uint64(tx.EvalCount(broker.StatusCanceled) - canceled)
		fx.Allocs = true
		for _, u := range r.Alloc {
			fx.reported(tx, u)
		}
		return writeEvals(tx, fx, r.Evals...)
	},
).lendable(func(r *AllocClientUpdateRequest) *AllocClientUpdateRequest {
	return &AllocClientUpdateRequest{r.Alloc, copiedEvals(r.Evals)} // the state takes over no report, only what it says
})

// reported notes what an update of an allocation means to its deployment, and to those who
// wait for room, which there is even on a node that is not ready: whoever is woken finds
// out.
func (fx *Effects) reported(tx *state.Tx, u *rpc.Allocation) {
	if u.ClientStatus == rpc.AllocClientComplete || u.ClientStatus == rpc.AllocClientFailed {
		fx.room(tx, u.NodeID, always)
	}
	if a := tx.Alloc(u.ID); fx.deployed(a) && u.Health != "" {
		fx.Healths = append(fx.Healths, a)
		fx.deployment(a.Namespace, a.JobID)
	}
}

var AllocsReported = AllocClientUpdate.because("batches of clients' reports")

// DesiredTransitionRequest asks schedulers to move, or to replace, allocations, and brings
// the evaluations that make them look.
type DesiredTransitionRequest struct {
	Migrate    []string
	Reschedule []string
	Evals      []*broker.Evaluation
}

var AllocUpdateDesiredTransition = Declare("AllocUpdateDesiredTransitionRequestType",
	perEval(func(r *DesiredTransitionRequest) int { return len(r.Evals) }),
	func(tx *state.Tx, r *DesiredTransitionRequest, fx *Effects) error {
		tx.RequestTransitions(r.Migrate, r.Reschedule)
		return writeEvals(tx, fx, r.Evals...)
	})

var TransitionsAsked = AllocUpdateDesiredTransition.because("batches of allocations asked to move")

// DeploymentStatusRequest ends a deployment, with the evaluation that makes schedulers look.
type DeploymentStatusRequest struct {
	Update *rpc.DeploymentUpdate
	Eval   *broker.Evaluation
}

var DeploymentStatusUpdate = Declare("DeploymentStatusUpdateRequestType",
	perEval(func(r *DeploymentStatusRequest) int { return len(oneOrNone(r.Eval)) }),
	func(tx *state.Tx, r *DeploymentStatusRequest, fx *Effects) error {
		tx.UpdateDeployment(r.Update)
		fx.deployment(r.Update.Namespace, r.Update.JobID)
		return writeEvals(tx, fx, oneOrNone(r.Eval)...)
	})

var DeploymentGivenUp = DeploymentStatusUpdate.because("deployments given up")
