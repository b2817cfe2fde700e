package cluster

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/internal/virtualtest"
)

func periodicJob(every time.Duration, prohibitOverlap bool) *rpc.Job {
	j := serviceJob("cron", 2, 0)
	j.Type = rpc.JobTypeBatch
	j.Periodic = &rpc.PeriodicConfig{Every: every, ProhibitOverlap: prohibitOverlap}
	return j
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

func (r *rig) children() (ids []string) {
	for job := range r.snap().Jobs() {
		if job.ParentID == "cron" {
			ids = append(ids, job.ID)
		}
	}
	return ids
}

// TestPeriodicJob: it runs nothing itself; each launch is a job and its evaluation in one
// entry, at a multiple of the period; none comes after the job is stopped.
func TestPeriodicJob(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		r := newRig(t, 3, Config{Seed: 1})
		eval, err := r.c.RegisterJob(t.Context(), periodicJob(time.Minute, false))
		r.ok(nil, err)
		began := time.Now()
		r.want("register", r.entries(), "1 JobRegisterRequestType\n")
		if eval != "" {
			t.Errorf("registering made evaluation %s", eval)
		}
		time.Sleep(time.Until(began.Truncate(time.Minute).Add(3*time.Minute + 30*time.Second)))
		r.want("three launches", r.entries(), "3 ApplyPlanResultsRequestType\n3 EvalUpdateRequestType\n3 JobRegisterRequestType\n")
		first := began.Truncate(time.Minute).Add(time.Minute).Unix()
		if got := r.children(); len(got) != 3 || !strings.HasSuffix(slices.Min(got), fsm.LaunchSuffix+itoa(first)) {
			t.Errorf("launched %v, want the first at %d", got, first)
		}
		r.ok(r.c.ForcePeriodic(t.Context(), "", "cron"))
		r.ok(r.c.StopJob(t.Context(), "", "cron", false))
		time.Sleep(5 * time.Minute)
		r.want("one by force, and the end", r.entries(), "1 ApplyPlanResultsRequestType\n1 EvalUpdateRequestType\n1 JobDeregisterRequestType\n1 JobRegisterRequestType\n")
		if _, err := r.c.ForcePeriodic(t.Context(), "", "cron"); err == nil {
			t.Error("a stopped job was launched")
		}
		wrong := periodicJob(time.Minute, false)
		wrong.Type = rpc.JobTypeService
		if _, err := r.c.RegisterJob(t.Context(), wrong); err == nil {
			t.Error("a service was registered as periodic")
		}
	})
}

// TestPeriodicJobDoesNotOverlap: a launch is skipped while an earlier one runs.
func TestPeriodicJobDoesNotOverlap(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		r := newRig(t, 3, Config{Seed: 1})
		r.ok(r.c.RegisterJob(t.Context(), periodicJob(time.Minute, true)))
		time.Sleep(5 * time.Minute)
		if n := len(r.children()); n != 1 {
			t.Fatalf("%d launches while the first runs, want 1", n)
		}
		for _, a := range r.live(r.children()[0]) {
			_, err := r.c.NodeServer(0).UpdateAlloc(t.Context(), &rpc.AllocUpdateRequest{NodeID: a.NodeID, Alloc: []*rpc.Allocation{{ID: a.ID, ClientStatus: rpc.AllocClientComplete}}})
			r.ok(nil, err)
		}
		time.Sleep(time.Minute)
		if n := len(r.children()); n != 2 {
			t.Errorf("%d launches after the first ended, want 2", n)
		}
	})
}

// TestNewLeaderDoesNotOverlap: old releases launch at each failover what was skipped since the last launch, though that runs.
func TestNewLeaderDoesNotOverlap(t *testing.T) {
	for mayNot, want := range map[bool]int{false: 2, true: 1} {
		virtualtest.Test(t, func(t *testing.T) {
			r := newRig(t, 3, Config{Seed: 1, Habits: Habits{MissedMayNotOverlap: mayNot}})
			r.ok(r.c.RegisterJob(t.Context(), periodicJob(time.Minute, true)))
			time.Sleep(5 * time.Minute)
			r.fails = allTypes
			r.ok(nil, r.c.StopServer(r.c.Leader()))
			time.Sleep(5 * time.Minute)
			if n := len(r.children()); n != want {
				t.Errorf("may not overlap %v: %d launches, want %d", mayNot, n, want)
			}
		})
	}
}

// TestPeriodicJobSurvivesFailover: what should have been launched while nobody led is
// launched once.
func TestPeriodicJobSurvivesFailover(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		r := newRig(t, 3, Config{Seed: 1})
		r.ok(r.c.RegisterJob(t.Context(), periodicJob(time.Second, false)))
		time.Sleep(10 * time.Second)
		r.fails = allTypes
		r.ok(nil, r.c.StopServer(r.c.Leader()))
		for r.c.Leader() < 0 {
			time.Sleep(10 * time.Millisecond)
		}
		led := time.Now()
		time.Sleep(10 * time.Second)
		missed := 0
		ids := r.children()
		for _, id := range ids {
			if strings.HasSuffix(id, fsm.LaunchSuffix+itoa(led.Unix())) {
				missed++
			}
		}
		if missed != 1 || len(ids) < 20 || len(ids) > 22 {
			t.Errorf("launched %v, want one at %d, when the new leader led", ids, led.Unix())
		}
	})
}
