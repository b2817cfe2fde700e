package clientrpc

import (
	"maps"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/internal/nomadrpc"
)

// toNode returns the node that a client registers. What it reserves for itself is not for
// tasks.
func toNode(n *nomadrpc.Node) *rpc.Node {
	node := &rpc.Node{
		ID: n.ID, SecretID: n.SecretID, Name: n.Name, Datacenter: n.Datacenter, NodeClass: n.NodeClass,
		Attributes: maps.Clone(n.Attributes), Status: n.Status, SchedulingEligibility: n.SchedulingEligibility,
	}
	if r := n.NodeResources; r != nil {
		node.Resources = rpc.Resources{CPUMHz: int(r.Cpu.CpuShares), MemoryMB: int(r.Memory.MemoryMB), DiskMB: int(r.Disk.DiskMB)}
	}
	if r := n.ReservedResources; r != nil {
		node.Resources = node.Resources.Sub(rpc.Resources{CPUMHz: int(r.Cpu.CpuShares), MemoryMB: int(r.Memory.MemoryMB), DiskMB: int(r.Disk.DiskMB)})
	}
	return node
}

// fromNode returns a node without its secret.
func fromNode(n *rpc.Node) *nomadrpc.Node {
	of := &nomadrpc.Node{
		ID: n.ID, Name: n.Name, Datacenter: n.Datacenter, NodeClass: n.NodeClass, Attributes: n.Attributes,
		NodeResources: &nomadrpc.NodeResources{
			Cpu:    nomadrpc.NodeCPUResources{CpuShares: int64(n.Resources.CPUMHz)},
			Memory: nomadrpc.NodeMemoryResources{MemoryMB: int64(n.Resources.MemoryMB)},
			Disk:   nomadrpc.NodeDiskResources{DiskMB: int64(n.Resources.DiskMB)},
		},
		SchedulingEligibility: n.SchedulingEligibility, Status: n.Status, StatusUpdatedAt: n.StatusUpdatedAt,
		CreateIndex: n.CreateIndex, ModifyIndex: n.ModifyIndex,
	}
	if d := n.Drain; d != nil {
		of.DrainStrategy = &nomadrpc.DrainStrategy{DrainSpec: nomadrpc.DrainSpec{Deadline: d.Deadline, IgnoreSystemJobs: d.IgnoreSystemJobs}}
		if d.ForceDeadline != 0 {
			of.DrainStrategy.ForceDeadline = time.Unix(0, d.ForceDeadline).UTC()
		}
	}
	return of
}
