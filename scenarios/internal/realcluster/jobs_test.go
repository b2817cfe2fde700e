package realcluster

import (
	"testing"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
)

// TestRollingUpdates: where a job says how many allocations are replaced at a time. Servers before 1.11 look for a system job's in the job.
func TestRollingUpdates(t *testing.T) {
	for _, tt := range []struct {
		version   string
		jobType   string
		parallel  []int
		job       int // zero: nothing
		groupsAre []int
	}{
		{"2.0.5", rpc.JobTypeSystem, []int{5}, 0, []int{5}},
		{"1.4.3", rpc.JobTypeSystem, []int{5}, 5, []int{5}},
		{"1.10.5", rpc.JobTypeSystem, []int{5, 0, 2}, 2, []int{5, -1, 2}},
		{"1.4.3", rpc.JobTypeSystem, []int{0}, 0, []int{-1}},
		{"1.4.3", rpc.JobTypeService, []int{5, 0}, 0, []int{5, 0}},
		{"1.4.3", rpc.JobTypeBatch, []int{5}, 0, []int{-1}},
	} {
		j := &rpc.Job{ID: "j", Namespace: "apps", Type: tt.jobType}
		for _, n := range tt.parallel {
			j.TaskGroups = append(j.TaskGroups, rpc.TaskGroup{Name: "g", MaxParallel: n})
		}
		got := (&Cluster{Version: tt.version}).asJob(j)
		switch u := got.Update; {
		case tt.job == 0 && u != nil:
			t.Errorf("%+v: the job is updated by %d", tt, *u.MaxParallel)
		case tt.job > 0 && (u == nil || *u.MaxParallel != tt.job || *u.Stagger != 30*time.Second):
			t.Errorf("%+v: the job's update is %+v", tt, u)
		}
		for i, want := range tt.groupsAre {
			if u := got.TaskGroups[i].Update; (u == nil) != (want < 0) || u != nil && *u.MaxParallel != want {
				t.Errorf("%+v: the update of group %d is %+v, want %d", tt, i, u, want)
			}
		}
	}
}
