package explore

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/leader"
	"github.com/simctl/simctl/cluster/scheduler"
	"github.com/simctl/simctl/cluster/state"
	"github.com/simctl/simctl/internal/interleave"
)

// Report is the outcome of a search.
type Report struct {
	Policy string `json:"policy"`
	Bounds Bounds `json:"bounds"`
	interleave.Found
	Violation *interleave.Counterexample `json:"violation,omitempty"`
}

// Run searches all interleavings within the bounds, with a policy for the broker. It calls
// progress, if that is not nil, with the number of states so far. The error is that of the bounds
// or of ctx.
func Run(ctx context.Context, p broker.Policy, bounds Bounds, progress func(states int)) (*Report, error) {
	return run(ctx, p, bounds, sound(bounds), progress)
}

func run(ctx context.Context, p broker.Policy, bounds Bounds, seams seams, progress func(states int)) (*Report, error) {
	if err := bounds.Check(); err != nil {
		return nil, err
	}
	system := newSystem(p, bounds, seams)
	found, path, wrong, err := interleave.Explore(ctx, system, bounds.MaxStates, progress)
	if err != nil {
		return nil, err
	}
	report := &Report{Policy: p.String(), Bounds: bounds, Found: found}
	if wrong != nil {
		report.Violation = system.replay(path, wrong)
	}
	return report, nil
}

// seams are the functions that tests replace to put a bug into the service. Those that sound returns are the
// servers' own code, or do as the servers do.
type seams struct {
	waitIndex func(*state.Snapshot, *broker.Evaluation) uint64
	pause     func(b *broker.EvalBroker, now time.Time, id, token string) error
	resume    func(b *broker.EvalBroker, now time.Time, id, token string)
	// refresh returns the index that a worker's next state must include, given the index of the state that its
	// plan was made on and the answer to the plan.
	refresh func(snap uint64, r *scheduler.PlanResult) uint64
	begin   func(*leader.PlanBase, *scheduler.Plan) (renew bool)
	// renew returns the index of the state that the applier takes when it needs one that includes least.
	renew func(least, latest uint64) uint64
	send  func(b *leader.PlanBase, applied uint64, r *state.PlanResults) error
	// planEval returns the ID of the evaluation that the entry of a plan names.
	planEval func(*scheduler.Plan) string
	// forgetsAnswer makes a worker whose wait ends at the instant at which it is answered miss the answer.
	forgetsAnswer bool
}

func sound(b Bounds) seams {
	return seams{
		waitIndex: func(snap *state.Snapshot, e *broker.Evaluation) uint64 {
			return leader.WaitIndex(b.design(), snap, e)
		},
		pause: (*broker.EvalBroker).PauseNackTimeout,
		resume: func(b *broker.EvalBroker, now time.Time, id, token string) {
			_ = b.ResumeNackTimeout(now, id, token) // an evaluation that is gone by then has no timer
		},
		refresh:  func(snap uint64, r *scheduler.PlanResult) uint64 { return max(snap, r.RefreshIndex) },
		begin:    (*leader.PlanBase).Begin,
		renew:    func(_, latest uint64) uint64 { return latest },
		send:     (*leader.PlanBase).Send,
		planEval: func(p *scheduler.Plan) string { return p.EvalID },
	}
}

// system is the modelled system as package interleave searches it.
type system struct {
	policy broker.Policy
	bounds Bounds
	seams  seams
	rand   *rand.Rand
}

var _ interleave.System[*world, step] = (*system)(nil)

func newSystem(p broker.Policy, b Bounds, s seams) *system {
	return &system{policy: p, bounds: b, seams: s, rand: interleave.Tokens()}
}

func (s *system) Start() *world                { return newWorld(s) }
func (*system) Clone(w *world) *world          { return w.clone() }
func (*system) Free(*world)                    {}
func (*system) Observe(w *world) error         { return w.observe() }
func (*system) Key(w *world, to []byte) []byte { return w.key(to) }
func (*system) Steps(w *world) []step          { return w.steps() }
func (*system) Fault(s step) bool              { return s.kind.fault }
func (*system) Quiet(w *world) error           { return w.checkQuiet() }
func (*system) Apply(w *world, s step) error   { return s.kind.apply(w, s) }

// replay repeats a history in words.
func (s *system) replay(path []step, v *interleave.Violation) *interleave.Counterexample {
	w := s.Start()
	c := &interleave.Counterexample{Property: v.Property, Detail: v.Detail}
	for _, st := range path {
		_ = w.observe()
		c.Steps = append(c.Steps, w.describe(st))
		_ = st.kind.apply(w, st) // the last one may be the violation itself
	}
	return c
}

// WriteText writes the report for people.
func (r *Report) WriteText(out io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d states, %d steps, longest history %d, %d quiet ends; %s\n",
		r.Policy, r.States, r.Transitions, r.Depth, r.Quiet, r.Verdict(r.Violation))
	if v := r.Violation; v != nil {
		fmt.Fprintf(&b, "%s: %s.\n", v.Property, v.Detail)
		for i, s := range v.Steps {
			fmt.Fprintf(&b, "%3d. %s\n", i+1, s)
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}
