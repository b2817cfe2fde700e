package scenarios

import (
	"fmt"
	"math"
	"time"

	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/nodesim"
)

// noSnapshots is more entries than any run writes. A snapshot of the Raft log changes no
// figure of a run whose servers never restart, costs no virtual time, and takes a second of
// real time on each server every 8192 entries.
const noSnapshots = 1 << 62

// heartbeatStorm is the published benchmark (nomad #14621): clients register while
// schedulers are off, so that every node leaves an evaluation of every job; then the
// schedulers drain the backlog; then clients fall silent, all at once.
func heartbeatStorm(p Params, cost *Cost) *Scenario {
	reporting := cost.ReportAllocs
	if p.ReportAllocs != nil {
		reporting = *p.ReportAllocs
	}
	return &Scenario{
		Cluster: cluster.Config{
			Servers:   p.Servers,
			Heartbeat: nomadHeartbeats,
			Reaper:    nomadReaper,
			Eval:      nomadEvals,
			Raft:      cluster.RaftConfig{SnapshotThreshold: noSnapshots},

			BatchUpdateInterval: 50 * time.Millisecond,
		},
		Fleet: nodesim.Config{
			Nodes:        p.Nodes,
			Resources:    p.nodeResources(),
			ReportAllocs: reporting,
		},
		Phases: []Phase{
			{
				Name:   "register",
				Events: []Event{{Action: RegisterJobs{p.jobs()}}, {Action: StartClients{}}},
				Until:  Registered{For: 3 * time.Second},
			},
			{
				Name:   "drain",
				Events: []Event{{Action: SetSchedulers{p.Schedulers}}},
				Until:  Recovered{For: quiet},
			},
			{
				Name:   "storm",
				Events: []Event{{Action: StopClients{Fraction: p.Fraction}}},
				Until:  Recovered{For: quiet, AfterDown: true},
			},
		},
	}
}

// Nomad's defaults (nomad/config.go of 1.4.3), said here so that they can be scaled.
var (
	nomadHeartbeats = cluster.HeartbeatConfig{
		MinTTL: 10 * time.Second, MaxPerSecond: 50, Grace: 10 * time.Second, FailoverTTL: 300 * time.Second,
	}
	nomadReaper = cluster.ReaperConfig{Interval: 5 * time.Second, Batch: 728}
	nomadEvals  = cluster.EvalConfig{
		NackTimeout: 60 * time.Second, InitialNackDelay: time.Second, SubsequentNackDelay: 20 * time.Second,
		DeliveryLimit: 3, FailedFollowupBaseline: time.Minute, FailedFollowupRange: 5 * time.Minute,
	}
)

// allocResources is what every allocation asks for: small, so that nodes of any number of
// jobs stay within what a machine has.
var allocResources = rpc.Resources{CPUMHz: 20, MemoryMB: 32, DiskMB: 10}

// nodeResources has room for the system jobs and for the service allocations the node may
// have to take over: one and a half times its share, and more if more than a quarter of
// the clients stop.
func (p Params) nodeResources() rpc.Resources {
	headroom := 1.5
	if left := 1 - p.Fraction; left > 0 {
		headroom = min(max(headroom, 1.1/left), 10)
	}
	slots := p.SystemJobs + 1 + int(math.Ceil(p.AllocsPerNode*headroom))
	return rpc.Resources{
		CPUMHz:   slots * allocResources.CPUMHz,
		MemoryMB: slots * allocResources.MemoryMB,
		DiskMB:   slots * allocResources.DiskMB,
	}
}

func (p Params) jobs() []*rpc.Job {
	var jobs []*rpc.Job
	for i := range p.SystemJobs {
		jobs = append(jobs, job(rpc.JobTypeSystem, i, 1))
	}
	for i := range p.ServiceJobs {
		jobs = append(jobs, job(rpc.JobTypeService, i, p.serviceCount()))
	}
	return jobs
}

func job(kind string, i, count int) *rpc.Job {
	return &rpc.Job{
		Namespace:   rpc.DefaultNamespace,
		ID:          fmt.Sprintf("%s-%03d", kind, i),
		Type:        kind,
		Priority:    50,
		Datacenters: []string{"dc1"},
		TaskGroups:  []rpc.TaskGroup{{Name: "group", Count: count, Resources: allocResources}},
	}
}
