package explore

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/cluster/internal/leader"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/scheduler"
	"github.com/simctl/simctl/internal/interleave"
)

// step is one move of one actor: its kind, who, and which choice.
type step struct {
	kind *stepKind
	arg  int // worker, job or submission
	alt  int
}

// stepKind is what an actor can do.
type stepKind struct {
	// fault says that nobody waits for the step: a history may end without it.
	fault bool
	// text says what the step does. WORKER and EVAL stand for the worker and what it holds, JOB for
	// the job, and PLAN for the evaluation that a plan is for.
	text  string
	apply func(w *world, s step) error
}

var (
	stepRegister = &stepKind{true, "a user registers job JOB", (*world).registerJob}
	stepTrigger  = &stepKind{true, "a user has job JOB evaluated", (*world).trigger}
	stepSooner   = &stepKind{true, "a user registers job JOB, in an entry before those of the plans under way", (*world).registerJob}
	stepEarlier  = &stepKind{true, "a user has job JOB evaluated, in an entry before those of the plans under way", (*world).trigger}
	stepDown     = &stepKind{true, "the small node goes down", (*world).down}
	stepEvals    = &stepKind{false, "the leader writes the evaluations for that", (*world).nodeEvals}

	stepAsk    = &stepKind{false, "WORKER dequeues an evaluation of job JOB", (*world).ask}
	stepWait   = &stepKind{false, "WORKER asks for an evaluation and waits", (*world).wait}
	stepHear   = &stepKind{false, "WORKER hears that it was given EVAL", (*world).hear}
	stepExpire = &stepKind{true, "the time that WORKER waits is over", (*world).expire}
	stepPlan   = &stepKind{false, "WORKER plans for EVAL on the oldest state that it may", (*world).plan}
	stepNewest = &stepKind{false, "WORKER plans for EVAL on the newest state", (*world).plan}
	stepBehind = &stepKind{false, "WORKER waits in vain for the state that EVAL needs", (*world).behind}
	stepSubmit = &stepKind{false, "WORKER submits its plan for EVAL", (*world).submit}
	stepFinish = &stepKind{false, "WORKER writes the outcome of EVAL", (*world).finish}
	stepAck    = &stepKind{false, "WORKER acks EVAL", (*world).ack}

	stepVerify = &stepKind{false, "the applier verifies the plan for PLAN", (*world).verify}
	stepSend   = &stepKind{false, "the applier sends the plan for PLAN to the log", func(w *world, s step) error { return w.send(s.arg) }}
	stepLand   = &stepKind{false, "the plan for PLAN is applied", func(w *world, _ step) error { return w.land() }}
	stepAnswer = &stepKind{false, "the leader answers the plan for PLAN", (*world).answer}

	stepRedeliver = &stepKind{false, "the first waiting evaluation stops waiting", func(w *world, _ step) error { return w.pass("") }}
	stepReap      = &stepKind{false, "the reaper cancels what was shed", (*world).reap}
	stepTimeout   = &stepKind{true, "the nack timer of EVAL fires", (*world).timeout}
	stepOrphan    = &stepKind{false, "the nack timer of EVAL, which nobody has, fires", (*world).timeout}
	stepLose      = &stepKind{true, "WORKER loses the connection on which it waits for its plan for EVAL", (*world).lose}
	stepFailover  = &stepKind{true, "another server gains leadership and restores", (*world).failover}
	stepDrop      = &stepKind{true, "the plan for PLAN is lost with the leader; another restores", (*world).failover}
)

// steps returns the moves that an observed state allows.
func (w *world) steps() (to []step) {
	sooner := w.sooner > 0 && slices.ContainsFunc(w.subs, func(s submission) bool { return s.stage == sent })
	if w.registered < len(w.jobs) {
		to = append(to, step{kind: stepRegister, arg: w.registered})
		if sooner {
			to = append(to, step{kind: stepSooner, arg: w.registered, alt: 1})
		}
	}
	for j := range w.registered {
		if w.triggers > 0 {
			to = append(to, step{kind: stepTrigger, arg: j})
			if sooner {
				to = append(to, step{kind: stepEarlier, arg: j, alt: 1})
			}
		}
	}
	if w.downs > 0 {
		to = append(to, step{kind: stepDown})
	}
	if w.owed {
		to = append(to, step{kind: stepEvals})
	}
	idleSeen := false
	for i := range w.workers {
		if w.workers[i].phase == idle && idleSeen {
			continue // idle workers are alike: one stands for all
		}
		idleSeen = idleSeen || w.workers[i].phase == idle
		to = w.workerSteps(to, i)
	}
	return w.leaderSteps(to)
}

func (w *world) workerSteps(to []step, i int) []step {
	switch wk := &w.workers[i]; wk.phase {
	case idle:
		if !w.b.HasReady() {
			return append(to, step{kind: stepWait, arg: i})
		}
		for j := range w.jobs {
			if w.isReady(j) {
				to = append(to, step{stepAsk, i, j})
			}
		}
	case inLine:
		to = append(to, step{kind: stepExpire, arg: i})
	case answered:
		to = append(to, step{kind: stepHear, arg: i}, step{kind: stepExpire, arg: i})
	case holding:
		latest := w.latest().Index()
		if wk.min > latest {
			// The index may be that of a plan on its way to the log, which will land unless it is lost. So
			// the worker waits in vain only if nothing is on its way.
			if !slices.ContainsFunc(w.subs, func(s submission) bool { return s.stage == sent }) {
				to = append(to, step{kind: stepBehind, arg: i})
			}
			return to
		}
		if to = append(to, step{kind: stepPlan, arg: i}); wk.min < latest {
			to = append(to, step{kind: stepNewest, arg: i, alt: 1})
		}
	case planned:
		to = append(to, step{kind: stepSubmit, arg: i})
	case submitted:
		if w.lost > 0 {
			to = append(to, step{kind: stepLose, arg: i})
		}
	case planning:
		to = append(to, step{kind: stepFinish, arg: i})
	case written:
		to = append(to, step{kind: stepAck, arg: i})
	}
	return to
}

func (w *world) leaderSteps(to []step) []step {
	verified, sending, first := -1, -1, -1
	for i, s := range w.subs {
		switch s.stage {
		case queued:
			if first < 0 {
				first = i
			}
		case inHand:
			verified = i
		case sent:
			if sending < 0 {
				sending = i
			}
		case ended:
			to = append(to, step{kind: stepAnswer, arg: i})
		}
	}
	if first >= 0 && verified < 0 {
		to = append(to, step{kind: stepVerify, arg: first})
	}
	if verified >= 0 && !w.base.Full() {
		to = append(to, step{kind: stepSend, arg: verified})
	}
	if sending >= 0 {
		to = append(to, step{kind: stepLand, arg: sending})
	}
	if len(w.view.Waiting) > 0 {
		to = append(to, step{kind: stepRedeliver})
	}
	if len(w.view.Cancelable) > 0 {
		to = append(to, step{kind: stepReap})
	}
	for i, h := range w.view.Unacked {
		switch {
		case w.nobodyHas(h):
			to = append(to, step{kind: stepOrphan, arg: i, alt: 1})
		case !h.Deadline.IsZero() && w.timeouts > 0:
			to = append(to, step{kind: stepTimeout, arg: i})
		}
	}
	if w.failovers > 0 && !w.owed {
		// The call that took the node down would fail between its two entries.
		to = append(to, step{kind: stepFailover})
		if sending >= 0 {
			to = append(to, step{kind: stepDrop, arg: sending, alt: 1})
		}
	}
	return to
}

func (w *world) isReady(job int) bool {
	for _, h := range w.view.Ready {
		if jobOf(h.Eval) == job {
			return true
		}
	}
	return false
}

// timeout fires the nack timer of an evaluation. Its worker, if it has one, goes on.
func (w *world) timeout(s step) error {
	if s.alt == 0 { // the worker is too slow, which is a fault
		w.timeouts--
	}
	w.elapse()
	w.b.ReadState(&w.view)
	return w.pass(w.view.Unacked[s.arg].Eval.ID)
}

// pass lets time pass until the nack timer of the evaluation slow fires. If slow is empty, it lets time pass
// until the first waiting evaluation need not wait any more. It pauses all other nack timers meanwhile.
func (w *world) pass(slow string) error {
	w.b.ReadState(&w.view)
	var paused []broker.Held
	var to time.Time
	for _, h := range w.view.Unacked {
		switch {
		case h.Eval.ID == slow:
			to = h.Deadline
		case h.Deadline.IsZero():
		default:
			if err := w.b.PauseNackTimeout(w.now, h.Eval.ID, h.Token); err != nil {
				return interleave.Violated("protocol", "pausing the nack timer of %s: %v", h.Eval.ID, err)
			}
			paused = append(paused, h)
		}
	}
	if slow == "" {
		to, _ = w.b.NextDeadline()
	}
	w.now = to
	w.b.Advance(w.now)
	for _, h := range paused {
		if err := w.b.ResumeNackTimeout(w.now, h.Eval.ID, h.Token); err != nil {
			return interleave.Violated("protocol", "resuming the nack timer of %s: %v", h.Eval.ID, err)
		}
	}
	w.serve()
	return nil
}

// triggered takes note that the job is owed a run that has seen the newest entry.
func (w *world) triggered(job int) { w.jobs[job].newest = w.latest().Index() }

func (w *world) registerJob(s step) error {
	w.registered++
	e := w.newEval(s.arg, broker.TriggeredByJobRegister)
	if w.sooner -= s.alt; s.alt == 0 {
		w.landAll()
	}
	w.insert("register "+jobNames[s.arg], fsm.JobRegister.With(&fsm.JobRegisterRequest{Eval: e, Job: &rpc.Job{
		Namespace: "default", ID: jobNames[s.arg], Type: types[s.arg], Priority: 50, Datacenters: []string{"dc1"},
		TaskGroups: []rpc.TaskGroup{{Name: "group", Count: 1, Resources: oneAlloc}},
	}}))
	w.triggered(s.arg)
	return nil
}

func (w *world) trigger(s step) error {
	w.triggers--
	if w.sooner -= s.alt; s.alt == 0 {
		w.landAll()
	}
	w.insert("evaluate "+jobNames[s.arg], fsm.EvalUpdate.With(&fsm.EvalUpdateRequest{
		Evals: []*broker.Evaluation{w.newEval(s.arg, broker.TriggeredByJobRegister)},
	}))
	w.triggered(s.arg)
	return nil
}

func (w *world) down(step) error {
	w.downs--
	w.owed = true
	w.write("down", fsm.NodeUpdateStatus.With(&rpc.NodeUpdateStatusRequest{NodeID: smallNode, Status: rpc.NodeStatusDown}))
	return nil
}

// nodeEvals writes an evaluation for every job that has an allocation on the node.
func (w *world) nodeEvals(step) error {
	w.owed = false
	w.landAll()
	var evals []*broker.Evaluation
	for j := range w.jobs {
		for _, a := range w.latest().NodeAllocs(smallNode).All {
			if a.JobID != jobNames[j] {
				continue
			}
			if w.sys.bounds.SkipQueued && w.b.Queued(broker.JobID{Namespace: a.Namespace, ID: a.JobID}) {
				w.triggered(j) // by the entry that took the node down
			} else {
				evals = append(evals, w.newEval(j, broker.TriggeredByNodeUpdate))
			}
			break
		}
	}
	if len(evals) == 0 {
		return nil
	}
	w.write("evaluations of the node", fsm.EvalUpdate.With(&fsm.EvalUpdateRequest{Evals: evals}))
	for _, e := range evals {
		w.triggered(jobOf(e))
	}
	return nil
}

func (w *world) reap(step) error {
	var evals []*broker.Evaluation
	for _, e := range w.b.Cancelable(100) {
		c := e.Copy()
		c.Status = broker.StatusCanceled
		evals = append(evals, c)
	}
	w.write("reap", fsm.EvalUpdate.With(&fsm.EvalUpdateRequest{Evals: evals}))
	return nil
}

// failover makes another server the leader. What was on its way to the log is applied before, or
// lost. Workers that wait for a plan's answer hear that nobody leads, and submit it again.
func (w *world) failover(s step) error {
	w.failovers--
	if s.alt == 0 {
		if err := w.landAll(); err != nil {
			return err
		}
	}
	var kept []submission
	for _, sub := range w.subs {
		switch {
		case sub.stage == ended:
			kept = append(kept, sub)
		case sub.worker >= 0:
			w.workers[sub.worker].phase = planned
		}
	}
	w.subs = kept
	w.b.SetEnabled(w.now, false)
	w.serve()
	w.base, w.based = w.sys.bounds.planBase(), ""
	w.b.SetEnabled(w.now, true)
	for _, e := range leader.PendingEvals(w.latest()) {
		w.b.Enqueue(w.now, e)
		w.serve()
	}
	return nil
}

// describe says what a step that is to be applied does.
func (w *world) describe(s step) string {
	held, plan, job := "", "", ""
	switch s.kind {
	case stepVerify, stepSend, stepLand, stepAnswer, stepDrop:
		plan = w.subs[s.arg].plan.EvalID
	case stepTimeout, stepOrphan:
		held = w.view.Unacked[s.arg].Eval.ID
	case stepAsk:
		job = jobNames[s.alt]
	case stepRegister, stepSooner, stepTrigger, stepEarlier:
		job = jobNames[s.arg]
	default:
		if s.arg < len(w.workers) && w.workers[s.arg].eval != nil {
			held = w.workers[s.arg].eval.ID
		}
	}
	return strings.NewReplacer("WORKER", fmt.Sprintf("worker %d", s.arg+1), "EVAL", held, "JOB", job, "PLAN", plan).Replace(s.kind.text)
}

// placements says what a plan's result changes, without the IDs of allocations.
func placements(r *scheduler.PlanResult) string {
	var b strings.Builder
	for _, node := range []string{smallNode, largeNode} {
		for _, a := range r.NodeUpdate[node] {
			fmt.Fprintf(&b, " -%s@%s", a.Name, node)
		}
		for _, a := range r.NodeAllocation[node] {
			fmt.Fprintf(&b, " +%s@%s", a.Name, node)
		}
	}
	return b.String()
}
