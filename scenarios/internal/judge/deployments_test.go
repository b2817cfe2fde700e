package judge

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

// TestDeployments follows deployments over two phases: one that ends, one that a later version
// replaces, and one that outlasts its phase.
func TestDeployments(t *testing.T) {
	w := newLossWorld(t)
	service := job(rpc.JobTypeService, 0, 2)
	begin := func(id string) {
		w.update(func(tx *state.Tx) error {
			return tx.UpsertDeployment(&rpc.Deployment{
				ID: id, Namespace: service.Namespace, JobID: service.ID, Status: rpc.DeploymentRunning,
				Groups: []rpc.DeploymentGroup{{Name: "g", DesiredTotal: 2, Healthy: 1}},
			})
		})
	}
	end := func(id string) {
		w.update(func(tx *state.Tx) error {
			tx.UpdateDeployment(&rpc.DeploymentUpdate{DeploymentID: id, Namespace: service.Namespace, JobID: service.ID, Status: rpc.DeploymentSuccessful})
			return nil
		})
	}
	var d Deployments
	start := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	see := func(s int, underWay int, seconds float64) {
		t.Helper()
		d.See(start.Add(time.Duration(s)*time.Second), w.store.Snapshot())
		if d.UnderWay() != underWay || d.Seconds() != seconds {
			t.Errorf("after %d s: %d under way, the longest took %g s; want %d and %g s", s, d.UnderWay(), d.Seconds(), underWay, seconds)
		}
	}
	d.BeginPhase()
	see(0, 0, 0)
	begin("first")
	see(10, 1, -1)
	if got := Unfinished(w.store.Snapshot()); len(got) != 1 || !strings.HasPrefix(got[0], "1 deployment under way at the end ("+service.ID+" with 1 of 2 allocations healthy)") {
		t.Errorf("the warnings are %q", got)
	}
	w.update(func(tx *state.Tx) error {
		return tx.UpsertEvals(&broker.Evaluation{ID: "blocked", Namespace: service.Namespace, JobID: service.ID, Status: broker.StatusBlocked, FailedTGAllocs: map[string]int{"g": 3}})
	})
	if got := Unfinished(w.store.Snapshot()); len(got) != 1 || !strings.Contains(got[0], "with 1 of 2 allocations healthy and no room for 3 more)") {
		t.Errorf("the warnings are %q while allocations wait for room", got)
	}
	end("first")
	see(40, 0, 30)
	if got := Unfinished(w.store.Snapshot()); len(got) != 0 {
		t.Errorf("the warnings are %q when nothing is left", got)
	}
	begin("second")
	see(50, 1, -1)
	begin("third") // in place of the second
	see(55, 1, -1)
	d.BeginPhase()
	see(60, 1, -1)
	end("third")
	see(100, 0, 45)
	d.BeginPhase()
	see(110, 0, 0)
}

// TestDeploymentsSideBySide: those of two jobs are told apart.
func TestDeploymentsSideBySide(t *testing.T) {
	w := newLossWorld(t)
	var d Deployments
	for at := range 5 {
		for _, id := range []string{"a", "b"} {
			status := rpc.DeploymentRunning
			if id == "a" && at == 4 || id == "b" && at >= 3 {
				status = rpc.DeploymentSuccessful
			}
			w.update(func(tx *state.Tx) error {
				return tx.UpsertDeployment(&rpc.Deployment{ID: id, JobID: id, Status: status})
			})
		}
		d.See(time.Unix(int64(at), 0), w.store.Snapshot())
		if want := []int{2, 2, 2, 1, 0}[at]; d.UnderWay() != want {
			t.Errorf("at %d s %d are under way, want %d", at, d.UnderWay(), want)
		}
	}
	if d.Seconds() != 4 {
		t.Errorf("the longest took %g s, want 4", d.Seconds())
	}
}

// TestManyAreUnfinished: a warning names one deployment and counts the others.
func TestManyAreUnfinished(t *testing.T) {
	w := newLossWorld(t)
	for i := range 3 {
		w.update(func(tx *state.Tx) error {
			return tx.UpsertDeployment(&rpc.Deployment{
				ID: fmt.Sprint("d", i), Namespace: rpc.DefaultNamespace, JobID: fmt.Sprint("job", i), Status: rpc.DeploymentRunning,
				Groups: []rpc.DeploymentGroup{{Name: "g", DesiredTotal: 2, Healthy: 1}, {Name: "h", DesiredTotal: 3, Healthy: 2}},
			})
		})
		want := []string{"1 deployment under way at the end (job0 with 3 of 5 allocations healthy)", "2 deployments under way at the end (job0 with 3 of 5 allocations healthy, 1 more)",
			"3 deployments under way at the end (job0 with 3 of 5 allocations healthy, 2 more)"}[i]
		if got := Unfinished(w.store.Snapshot()); len(got) != 1 || !strings.HasPrefix(got[0], want) {
			t.Errorf("the warnings are %q, want %q", got, want)
		}
	}
}

// TestDrainsAreUnfinished while something runs on the node.
func TestDrainsAreUnfinished(t *testing.T) {
	w := newLossWorld(t)
	w.update(func(tx *state.Tx) error { return tx.UpdateNodeDrain("one", &rpc.DrainStrategy{}, false, 0, "") })
	warns := func(want string) {
		t.Helper()
		if got := strings.Join(Unfinished(w.store.Snapshot()), "; "); got != want {
			t.Errorf("the warnings are %q, want %q", got, want)
		}
	}
	warns("1 node draining at the end")
	w.update(func(tx *state.Tx) error { return tx.UpdateNodeDrain("two", &rpc.DrainStrategy{}, false, 0, "") })
	warns("2 nodes draining at the end")
	w.status("two", rpc.NodeStatusDown)
	warns("1 node draining at the end")
	w.stop("service-on-one", rpc.AllocClientComplete)
	warns("1 node draining at the end")
	w.stop("system-on-one", rpc.AllocClientComplete)
	warns("")
}
