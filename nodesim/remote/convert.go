package remote

import (
	"maps"
	"strings"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/internal/nomadrpc"
)

// driverAttribute is how the attributes of drivers begin.
const driverAttribute = "driver."

// wireNode returns a node as a client of the release registers it.
func (s *Servers) wireNode(n *rpc.Node, secret string) *nomadrpc.Node {
	out := &nomadrpc.Node{
		ID: n.ID, SecretID: secret, Datacenter: n.Datacenter, Name: n.Name, NodeClass: n.NodeClass,
		Status: n.Status, SchedulingEligibility: n.SchedulingEligibility,
		Attributes: maps.Clone(n.Attributes), Drivers: map[string]*nomadrpc.DriverInfo{},
		NodeResources: &nomadrpc.NodeResources{
			Cpu:    nomadrpc.NodeCPUResources{CpuShares: int64(n.Resources.CPUMHz), TotalCpuCores: uint16(max(n.Resources.CPUMHz/mhzOfACore, 1))},
			Memory: nomadrpc.NodeMemoryResources{MemoryMB: int64(n.Resources.MemoryMB)},
			Disk:   nomadrpc.NodeDiskResources{DiskMB: int64(n.Resources.DiskMB)},
			// Ports are given out by address: a node without a network has none.
			Networks: []*nomadrpc.NetworkResource{{Mode: "host", Device: networkDevice, CIDR: networkIP + "/32", IP: networkIP, MBits: networkMBits}},
			NodeNetworks: []*nomadrpc.NodeNetworkResource{{
				Mode: "host", Device: networkDevice, Speed: networkMBits,
				Addresses: []nomadrpc.NodeNetworkAddress{{Family: "ipv4", Alias: "default", Address: networkIP}},
			}},
			MinDynamicPort: 20000, MaxDynamicPort: 32000,
		},
	}
	out.Attributes["nomad.version"] = s.cfg.Release
	maps.Copy(out.Attributes, s.cfg.Attributes)
	for attribute := range n.Attributes {
		if driver, ok := strings.CutPrefix(attribute, driverAttribute); ok && !strings.Contains(driver, ".") {
			out.Drivers[driver] = &nomadrpc.DriverInfo{Detected: true, Healthy: true, HealthDescription: "Healthy"}
		}
	}
	return out
}

// What nodes say of themselves that the fleet's nodes do not know.
const (
	mhzOfACore    = 1000
	networkDevice = "eth0"
	networkIP     = "127.0.0.1"
	networkMBits  = 1000
)

// fleetAlloc returns what the fleet asks of an allocation.
func fleetAlloc(a *nomadrpc.Allocation) *rpc.Allocation {
	out := &rpc.Allocation{
		ID: a.ID, Namespace: a.Namespace, Name: a.Name, NodeID: a.NodeID, JobID: a.JobID, TaskGroup: a.TaskGroup,
		DesiredStatus: a.DesiredStatus, ClientStatus: a.ClientStatus, DeploymentID: a.DeploymentID,
		CreateIndex: a.CreateIndex, ModifyIndex: a.ModifyIndex, AllocModifyIndex: a.AllocModifyIndex,
	}
	if a.Job != nil {
		out.JobType = a.Job.Type
	}
	if d := a.DeploymentStatus; d != nil && d.Healthy != nil {
		out.Health = rpc.AllocUnhealthy
		if *d.Healthy {
			out.Health = rpc.AllocHealthy
		}
	}
	return out
}

// wireUpdates returns updates as clients send them: with the states of all tasks, from which
// servers tell whether a batch job has succeeded.
func (n *node) wireUpdates(updates []*rpc.Allocation) []*nomadrpc.Allocation {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	out := make([]*nomadrpc.Allocation, 0, len(updates))
	for _, u := range updates {
		k, ok := n.allocs[u.ID]
		if ok && u.ClientStatus == rpc.AllocClientRunning && k.started.IsZero() {
			k.started = now
			n.allocs[u.ID] = k
		}
		w := &nomadrpc.Allocation{
			ID: u.ID, NodeID: u.NodeID, ClientStatus: u.ClientStatus, ClientDescription: describe(u),
			TaskStates: make(map[string]*nomadrpc.TaskState, len(k.tasks)),
		}
		for _, task := range k.tasks {
			w.TaskStates[task] = taskState(u.ClientStatus, k.started, now)
		}
		if u.Health != "" {
			w.DeploymentStatus = &nomadrpc.AllocDeploymentStatus{Healthy: new(u.Health == rpc.AllocHealthy), Timestamp: now}
		}
		out = append(out, w)
	}
	return out
}

// describe returns what clients say of a status (client/allocrunner/alloc_runner.go).
func describe(u *rpc.Allocation) string {
	switch {
	case u.ClientDescription != "":
		return u.ClientDescription
	case u.ClientStatus == rpc.AllocClientRunning:
		return "Tasks are running"
	case u.ClientStatus == rpc.AllocClientComplete:
		return "All tasks have completed"
	case u.ClientStatus == rpc.AllocClientFailed:
		return "Failed tasks"
	}
	return ""
}

func taskState(status string, started, now time.Time) *nomadrpc.TaskState {
	t := &nomadrpc.TaskState{State: "pending", StartedAt: started}
	switch status {
	case rpc.AllocClientRunning:
		t.State = "running"
	case rpc.AllocClientComplete, rpc.AllocClientFailed, rpc.AllocClientLost:
		t.State, t.FinishedAt, t.Failed = "dead", now, status == rpc.AllocClientFailed
	}
	return t
}
