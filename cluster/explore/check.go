package explore

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/internal/interleave"
)

// observe reads the broker's state into the view and checks all properties.
func (w *world) observe() error {
	w.b.ReadState(&w.view)
	if err := w.view.Check(); err != nil {
		return interleave.Violated("serialisation", "%v", err)
	}
	if len(w.line.Tickets()) > 0 && w.b.HasReady() {
		return interleave.Violated("no lost wake-up", "worker %d waits, although %s is ready", w.line.Tickets()[0]+1, w.view.Ready[0].Eval.ID)
	}
	for _, h := range w.view.Unacked {
		if err := w.checkHeld(h); err != nil {
			return err
		}
	}
	for j := range w.jobs {
		if w.jobs[j].covered < w.jobs[j].newest && !w.willRun(j) {
			return interleave.Violated("no lost wake-up", "job %s was triggered at index %d, no finished run has seen that, and none is to come",
				jobNames[j], w.jobs[j].newest)
		}
	}
	return w.checkAllocs()
}

// checkHeld looks at an evaluation that was delivered and not acked.
func (w *world) checkHeld(h broker.Held) error {
	switch {
	case h.Deadline.IsZero() && !w.isSubmitted(h.Token):
		return interleave.Violated("no lost wake-up", "the nack timer of %s stands still, and no call is there to start it", h.Eval.ID)
	case w.nobodyHas(h) && !slices.Contains(w.orphans, h.Token):
		return interleave.Violated("no lost wake-up", "%s was given to a worker that does not know of it", h.Eval.ID)
	}
	return nil
}

func (w *world) isSubmitted(token string) bool {
	return slices.ContainsFunc(w.subs, func(s submission) bool { return s.plan.EvalToken == token && !s.refused })
}

// nobodyHas reports whether neither a worker nor a submitted plan has a delivered evaluation, so that only its
// nack timer can bring it back.
func (w *world) nobodyHas(h broker.Held) bool {
	return !w.isSubmitted(h.Token) && !slices.ContainsFunc(w.workers, func(wk worker) bool { return wk.eval != nil && wk.token == h.Token })
}

// willRun reports whether the broker holds an evaluation of the job that a worker will get.
func (w *world) willRun(job int) bool {
	of := func(h broker.Held) bool { return jobOf(h.Eval) == job }
	v := &w.view
	return slices.ContainsFunc(v.Ready, of) || slices.ContainsFunc(v.Unacked, of) || slices.ContainsFunc(v.Waiting, of) || slices.ContainsFunc(v.Pending, of)
}

// checkAllocs looks at what runs.
func (w *world) checkAllocs() error {
	snap := w.latest()
	for n := range snap.Nodes() {
		if on := snap.NodeAllocs(n.ID); !n.Resources.Fits(on.Used) {
			return interleave.Violated("no node overcommitted", "node %s holds %d allocations and has no room for as many", n.ID, len(on.Live))
		}
	}
	seen := map[string]string{}
	for a := range snap.Allocs() {
		if a.Terminal() {
			continue
		}
		if by, ok := seen[a.Name]; ok {
			return interleave.Violated("no plan applied twice", "%s runs twice: for evaluations %s and %s", a.Name, min(by, a.EvalID), max(by, a.EvalID))
		}
		seen[a.Name] = a.EvalID
	}
	return nil
}

// checkQuiet is for states in which nobody has anything to do.
func (w *world) checkQuiet() error {
	v := &w.view
	for _, held := range [][]broker.Held{v.Ready, v.Unacked, v.Waiting, v.Pending} {
		if len(held) > 0 {
			return interleave.Violated("no lost wake-up", "the system is quiet, but %s is still in the broker", held[0].Eval.ID)
		}
	}
	snap := w.latest()
	for e := range snap.Evals() {
		if e.Status == broker.StatusPending {
			return interleave.Violated("conservation", "the system is quiet, and %s is pending in state", e.ID)
		}
	}
	for j := range w.registered {
		runs := 0
		for a := range snap.Allocs() {
			if n := snap.NodeByID(a.NodeID); a.JobID == jobNames[j] && !a.Terminal() && n.Status != rpc.NodeStatusDown {
				runs++
			}
		}
		if runs != 1 {
			return interleave.Violated("convergence", "the system is quiet, and job %s runs %d times on nodes that are up", jobNames[j], runs)
		}
	}
	return nil
}

// key appends what tells an observed world from others. Two worlds have one key even if workers have swapped
// their work, or if deadlines differ and their order does not. The hash of the log's entries stands for the
// log and the state.
func (w *world) key(to []byte) []byte {
	to = fmt.Append(to, w.history, w.owed, w.registered, w.triggers, w.downs, w.timeouts, w.failovers, w.lost, w.sooner, w.based, w.base.UnderWay())
	place := func(kind byte, held []broker.Held) {
		for _, h := range held {
			to = append(append(to, kind), h.Eval.ID...)
			to = append(to, bit(h.Deadline.IsZero()), w.holder(h.Token))
		}
	}
	v := &w.view
	place('r', v.Ready)
	place('u', v.Unacked)
	place('w', v.Waiting)
	place('p', v.Pending)
	for _, e := range v.Cancelable {
		to = append(append(to, 'c'), e.ID...)
	}
	for _, s := range w.subs {
		to = fmt.Append(to, "|", s.plan.EvalID, s.plan.SnapshotIndex, s.stage, s.refused, s.worker >= 0, w.holds(s.plan.EvalToken))
		if s.result != nil {
			to = fmt.Append(to, placements(s.result), s.result.RefreshIndex)
		} else {
			to = fmt.Append(to, s.plan.Size())
		}
	}
	workers := make([]string, len(w.workers))
	for i, wk := range w.workers {
		workers[i] = w.describeWorker(i, wk)
	}
	slices.SortFunc(workers, cmp.Compare)
	return fmt.Append(to, workers)
}

// describeWorker says all of a worker but its name.
func (w *world) describeWorker(i int, wk worker) string {
	if wk.eval == nil {
		return fmt.Sprint(wk.phase, slices.Index(w.line.Tickets(), i))
	}
	sub := slices.IndexFunc(w.subs, func(s submission) bool { return s.worker == i })
	text := fmt.Sprint(wk.phase, wk.eval.ID, w.holds(wk.token), wk.min, sub, "|")
	for _, a := range wk.attempts {
		text += fmt.Sprint(a.snap, ",")
		if a.result != nil {
			text += fmt.Sprint(placements(a.result), a.result.RefreshIndex, a.result.AllocIndex)
		}
	}
	return text
}

// holds reports whether a token is still valid.
func (w *world) holds(token string) bool {
	return slices.ContainsFunc(w.view.Unacked, func(h broker.Held) bool { return h.Token == token })
}

// holder says who has the delivery of a token: a worker, a call, or nobody.
func (w *world) holder(token string) byte {
	switch {
	case token == "":
		return 0
	case slices.ContainsFunc(w.workers, func(wk worker) bool { return wk.eval != nil && wk.token == token }):
		return 1
	case w.isSubmitted(token):
		return 2
	}
	return 3
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}
