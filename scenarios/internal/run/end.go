package run

import (
	"fmt"
	"time"

	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/state"
	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/scenarios/internal/conditions"
	"github.com/simctl/simctl/scenarios/internal/judge"
)

// Bounds of the healing at the end of a run: the checks need a healthy cluster, so a run that
// leaves faults behind gets the time to recover from them.
const (
	healQuiet = conditions.Quiet
	healLimit = time.Hour
)

// healAtEnd ends the faults that the phases left and waits until the cluster has settled.
func (r *run) healAtEnd() error {
	if !r.stage.Faulty() {
		return nil
	}
	r.stage.Note("all faults end")
	if err := r.stage.Heal(); err != nil {
		return fmt.Errorf("end the faults that were left: %w", err)
	}
	until := conditions.Settled{For: r.scaled(healQuiet)}
	limit := r.scaled(healLimit)
	w := conditions.NewWatch(r.sample(), until, limit)
	w.EventsOver = true
	for {
		time.Sleep(r.period(time.Since(w.Start)))
		if r.ctx.Err() != nil {
			return r.ctx.Err()
		}
		w.Add(r.sample())
		if since, ok := w.Met(); ok && w.Last.At.Sub(since) >= until.Hold() {
			return nil
		}
		if err := r.withinLimits(); err != nil {
			return err
		}
		if w.Last.At.Sub(w.Start) > limit {
			return fmt.Errorf("%v after all faults ended: %w: %s", limit, errStalled, until.Lacking(w))
		}
	}
}

// settle is how long a cluster may take to finish what is left to do, and drain how long servers may
// take to apply a log to which nothing is added. settlePoll is the time between two looks.
const (
	settle     = time.Minute
	drain      = 10 * time.Minute
	settlePoll = 50 * time.Millisecond
)

// rest waits, for settle at most, until nothing is left to do. Then it ends all writing: otherwise the states of
// servers, when they are compared, would differ by the last entries. From its start on, no node goes down for
// want of heartbeats, since on a scaled clock a few hundred milliseconds are the time of many.
func (r *run) rest() {
	if r.sim != nil {
		r.sim.HoldNodes()
	}
	in := r.inside()
	await(settle, func() bool {
		s := r.system.Stats()
		r.left = judge.NonePending(s)
		return s.Leader != "" && r.left.OK && (in == nil || in.Drained())
	})
	if in != nil {
		in.EndWrites()
		await(drain, in.Drained)
	}
}

// await waits, for so long at most, until ok reports true.
func await(most time.Duration, ok func() bool) {
	for waited := time.Duration(0); !ok() && waited < most; waited += settlePoll {
		time.Sleep(settlePoll)
	}
}

// checkEnd checks what must hold at the end of a run. The fleet has stopped, and so have the servers.
func (r *run) checkEnd() {
	if r.sim == nil {
		r.check(r.left)
		if r.other != nil {
			r.checkOther()
		}
		return
	}
	if t := r.thorough; t != nil {
		t.end()
		r.check(t.reads.Verdicts()...)
		r.check(t.calls.Verdict())
	}
	snaps := r.sim.Snapshots()
	same := make(chan metrics.Invariant)
	go func() { same <- judge.ServersSame(snaps, r.world.Alive) }() // beside the oracle: both read all of a state
	r.checkOutcome(snaps[0], r.sim.Waiting())
	stats := r.sim.Stats()
	seen := r.obs.Close()
	conserved := judge.Conserved
	if r.sc.Cluster.Design.WorkQueue {
		conserved = judge.NoneWritten
	}
	r.check(conserved(snaps[0], stats, seen), judge.OneInFlight(seen), r.left, <-same)
	r.world.Alive()
	r.check(judge.Logs(r.sim.CheckLogs())...)
	if r.thorough != nil {
		r.check(r.thorough.trail.Once(), r.thorough.trail.Verdict())
	}
}

// checkOther checks servers of another design: that their last state is what the oracle expects, and that all have the
// same. It does not check how they came to it, such as that a job has only one evaluation in flight.
func (r *run) checkOther() {
	snaps := r.other.Snapshots()
	r.checkOutcome(snaps[0], cluster.Waiting{})
	r.check(judge.ServersSame(snaps, r.world.Alive))
}

func (r *run) check(verdicts ...metrics.Invariant) { r.checks = append(r.checks, verdicts...) }

// checkOutcome asks the oracle about the last state, unless evaluations are left that would still change it.
func (r *run) checkOutcome(snap *state.Snapshot, waiting cluster.Waiting) {
	if r.left.OK {
		r.checkOracle(judge.WholeRun, snap, waiting)
	}
}

// checkOracle asks the oracle about a state, now that every evaluation is processed.
func (r *run) checkOracle(when string, snap *state.Snapshot, waiting cluster.Waiting) {
	r.world.Alive()
	r.check(judge.AsOracle(when, snap, waiting))
}

// mostStolen is the share of real servers' processors that their host may take away in a phase before it matters: the host of a
// quiet virtual machine took up to 0.7% (testdata/validation/eighth).
const mostStolen = 0.01

// disturbed says in which phases the host of real servers' machine took more than that.
func disturbed(res *metrics.Result) (warnings []string) {
	stolen := res.SeriesByName(metrics.SeriesStolen)
	if stolen == nil {
		return nil
	}
	for _, p := range res.Phases {
		if share := stolen.Spent(p.StartS, p.EndS) / (p.EndS - p.StartS); share > mostStolen {
			warnings = append(warnings, fmt.Sprintf("%s: the host of this virtual machine took %.0f%% of its processor time away: run it again before you compare it", p.Name, 100*share))
		}
	}
	return warnings
}
