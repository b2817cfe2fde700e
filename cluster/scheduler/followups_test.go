package scheduler

import (
	"fmt"
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
)

// TestFollowUps compares what the allocations tell with the evaluations that were written for
// them, and ends when these have been processed.
func TestFollowUps(t *testing.T) {
	for name, tt := range map[string]struct {
		job  *rpc.Job
		wait time.Duration
		do   func(*world)
	}{
		"failed service": {job(rpc.JobTypeService, "j", 2), serviceRescheduleDelay, func(w *world) {
			w.report("j", rpc.AllocClientFailed, nil)
		}},
		"failed batch": {job(rpc.JobTypeBatch, "j", 2), batchRescheduleDelay, func(w *world) {
			w.report("j", rpc.AllocClientFailed, nil)
		}},
		"one failed later": {job(rpc.JobTypeService, "j", 2), serviceRescheduleDelay, func(w *world) {
			first := w.live("j")[0].NodeID
			w.report("j", rpc.AllocClientFailed, on(first))
			w.now = w.now.Add(3 * time.Second)
			w.report("j", rpc.AllocClientFailed, nil)
			w.now = w.now.Add(-3 * time.Second)
		}},
		"out of reach": {job(rpc.JobTypeService, "j", 2, group(func(tg *rpc.TaskGroup) { tg.MaxClientDisconnect = time.Minute })), time.Minute, func(w *world) {
			w.status(w.live("j")[0].NodeID, rpc.NodeStatusDisconnected)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := running(t, 3, tt.job)
			found := func() []*broker.Evaluation {
				snap := w.store.Snapshot()
				return FollowUps(snap, snap.JobByID(rpc.DefaultNamespace, "j"), w.habits)
			}
			w.want("before", len(found()), 0)
			tt.do(w)
			w.want("before a scheduler saw it", len(found()), 0)
			out := w.runJob("j")
			w.want("written", len(out.created), 1)
			got, next := found(), out.created[0]
			w.want("found", len(got), 1)
			w.want("follow-up", []any{got[0].ID, got[0].TriggeredBy, got[0].WaitUntil.Sub(w.now), got[0].Type, got[0].Status},
				[]any{next.ID, next.TriggeredBy, tt.wait, next.Type, next.Status})
			w.now = next.WaitUntil
			w.run(got[0])
			w.want("afterwards", len(found()), 0)
		})
	}
}

// TestFollowUpsOfUnknown: what waits for a replacement is found with what waits for its loss, and that alone once it is replaced.
func TestFollowUpsOfUnknown(t *testing.T) {
	w, away, created := outOfReach(t, rpc.JobTypeService, 4, 2, Habits{UnknownCounts: true, UnknownWaits: true})
	found := func() (waits []string) {
		snap := w.store.Snapshot()
		for _, e := range FollowUps(snap, snap.JobByID(rpc.DefaultNamespace, "j"), w.habits) {
			waits = append(waits, fmt.Sprint(e.ID, " ", e.WaitUntil.Unix()))
		}
		return waits
	}
	lost, replaced := created[0].WaitUntil, created[1].WaitUntil
	w.want("before", found(), []string{fmt.Sprint(away.ID, " ", lost.Unix()), fmt.Sprint(created[1].ID, " ", replaced.Unix())})
	w.now = replaced
	w.run(created[1])
	w.want("after", found(), []string{fmt.Sprint(created[1].ID, " ", lost.Unix())})
}

// TestTooManyOfWhichOneFailed: a service is to have one allocation less while one that failed waits for its replacement. Releases that may
// stop that one leave the others alone, if it has the highest name, and place nothing later.
func TestTooManyOfWhichOneFailed(t *testing.T) {
	for _, c := range []struct {
		failed int // its number
		habits Habits
		names  string // that run then
		later  int    // how many run when the replacement is due
		placed int
	}{
		{2, Habits{}, "[j.g[1]]", 2, 1},
		{2, Habits{StopsEnded: true}, "[j.g[0] j.g[1]]", 2, 0},
		{0, Habits{}, "[j.g[1]]", 2, 1},
		{0, Habits{StopsEnded: true}, "[j.g[1]]", 2, 1},
	} {
		w := running(t, 3, job(rpc.JobTypeService, "j", 3))
		w.habits = c.habits
		w.report("j", rpc.AllocClientFailed, func(a *rpc.Allocation) bool { return nameNumber(a.Name) == c.failed })
		next := w.runJob("j").created[0]
		w.change("j", group(func(tg *rpc.TaskGroup) { tg.Count = 2 }))
		w.runJob("j")
		w.want(fmt.Sprintf("%+v", c), w.names("j"), c.names)
		before := len(w.allocs("j"))
		w.now = next.WaitUntil
		w.run(next)
		w.want(fmt.Sprintf("%+v, later", c), []int{len(w.live("j")), len(w.allocs("j")) - before}, []int{c.later, c.placed})
	}
}
