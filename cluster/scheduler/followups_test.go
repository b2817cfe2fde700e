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
