package scheduler

import (
	"slices"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

// checkJobs compares the allocations of each job with what it asks for.
func (w *randomWorld) checkJobs() {
	snap := w.store.Snapshot()
	for _, j := range randomJobs {
		job := snap.JobByID(rpc.DefaultNamespace, j.id)
		live := w.live(j.id)
		for _, a := range live {
			if n := snap.NodeByID(a.NodeID); n == nil || n.Status == rpc.NodeStatusDown {
				w.rt.Fatalf("%s: %s is said to run on node %s, which is gone", j.id, a.Name, a.NodeID)
			}
		}
		if job == nil || job.Stop {
			if len(live) > 0 {
				w.rt.Fatalf("%s is stopped and has %d allocations", j.id, len(live))
			}
			continue
		}
		switch j.jobType {
		case rpc.JobTypeSystem:
			w.checkSystem(snap, job, live)
		case rpc.JobTypeService:
			w.checkService(snap, job, live)
		}
	}
}

// checkSystem fails unless each group has one allocation, of the job's version, on every ready
// node, and none on others but those that are merely not ready.
func (w *randomWorld) checkSystem(snap *state.Snapshot, job *rpc.Job, live []*rpc.Allocation) {
	have := map[string]int{}
	for _, a := range live {
		have[a.NodeID+" "+a.TaskGroup]++
	}
	for n := range snap.Nodes() {
		for i := range job.TaskGroups {
			key := n.ID + " " + job.TaskGroups[i].Name
			if n.Ready() && job.RunsIn(n.Datacenter) && have[key] != 1 {
				w.rt.Fatalf("%s: ready node and group %s has %d allocations, want 1", job.ID, key, have[key])
			}
			if !n.Ready() && n.Status == rpc.NodeStatusReady && n.Drain == nil && have[key] <= 1 || have[key] == 1 && n.Status == rpc.NodeStatusInit {
				delete(have, key) // ineligible: what is there stays
			}
			if n.Ready() && job.RunsIn(n.Datacenter) {
				delete(have, key)
			}
		}
	}
	for key := range have {
		w.rt.Fatalf("%s: node and group %s has an allocation and should have none", job.ID, key)
	}
	for _, a := range live {
		if n := snap.NodeByID(a.NodeID); n.Ready() && a.JobVersion != job.Version {
			w.rt.Fatalf("%s: %s on %s is of version %d, want %d", job.ID, a.Name, a.NodeID, a.JobVersion, job.Version)
		}
	}
}

// checkService fails unless each group has its count of allocations of the job's version, or
// there is no node to run on. Names may repeat: as in Nomad 1.4.3, two allocations of one
// name reconnect if the replacement was disconnected too. A deployment may wait for an allocation whose
// client is not in touch; until its deadline the others stay of the version before.
func (w *randomWorld) checkService(snap *state.Snapshot, job *rpc.Job, live []*rpc.Allocation) {
	if snap.NodesIn(job.Datacenters).Ready == 0 {
		return
	}
	waits := slices.ContainsFunc(live, func(a *rpc.Allocation) bool {
		return a.DeploymentID != "" && a.Health == "" && snap.NodeByID(a.NodeID).Status != rpc.NodeStatusReady
	})
	have := map[string]int{}
	for _, a := range live {
		have[a.TaskGroup]++
		if a.JobVersion != job.Version && snap.NodeByID(a.NodeID).Ready() && !waits {
			w.rt.Fatalf("%s: %s is of version %d, want %d", job.ID, a.Name, a.JobVersion, job.Version)
		}
	}
	for i := range job.TaskGroups {
		if tg := &job.TaskGroups[i]; have[tg.Name] != tg.Count {
			w.rt.Fatalf("%s: group %s has %d allocations, want %d", job.ID, tg.Name, have[tg.Name], tg.Count)
		}
	}
}
