package apitypes

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

// Node returns a node with the events of its life.
func Node(s *state.Snapshot, n *rpc.Node) *api.Node {
	node := &api.Node{
		ID: n.ID, Datacenter: n.Datacenter, Name: n.Name, HTTPAddr: n.Attributes["unique.network.ip-address"],
		Attributes: n.Attributes, NodeResources: nodeResources(n), ReservedResources: &api.NodeReservedResources{},
		Resources: resources(n.Resources), Reserved: resources(rpc.Resources{}),
		NodeClass: n.NodeClass, NodePool: nodePool, Drain: n.Drain != nil, DrainStrategy: drain(n.Drain),
		SchedulingEligibility: n.SchedulingEligibility, Status: n.Status, StatusUpdatedAt: n.StatusUpdatedAt,
		Drivers: drivers(n), LastDrain: lastDrain(s, n), CreateIndex: n.CreateIndex, ModifyIndex: n.ModifyIndex,
	}
	for _, e := range s.NodeEvents(n.ID) {
		subsystem := "Cluster"
		if strings.HasPrefix(e.Message, "Node drain") {
			subsystem = "Drain"
		}
		node.Events = append(node.Events, &api.NodeEvent{
			Message: e.Message, Subsystem: subsystem, Timestamp: time.Unix(e.Timestamp, 0).UTC(), CreateIndex: e.CreateIndex,
		})
	}
	return node
}

// NodeStub returns a node as lists have it, without its resources.
func NodeStub(s *state.Snapshot, n *rpc.Node) *api.NodeListStub {
	return &api.NodeListStub{
		Address: n.Attributes["unique.network.ip-address"], ID: n.ID, Datacenter: n.Datacenter, Name: n.Name,
		NodeClass: n.NodeClass, NodePool: nodePool, Version: n.Attributes["nomad.version"], Drain: n.Drain != nil,
		SchedulingEligibility: n.SchedulingEligibility, Status: n.Status, Drivers: drivers(n),
		LastDrain: lastDrain(s, n), CreateIndex: n.CreateIndex, ModifyIndex: n.ModifyIndex,
	}
}

// NodeStubWithResources is NodeStub with resources.
func NodeStubWithResources(s *state.Snapshot, n *rpc.Node) *api.NodeListStub {
	stub := NodeStub(s, n)
	stub.NodeResources, stub.ReservedResources = nodeResources(n), &api.NodeReservedResources{}
	return stub
}

func nodeResources(n *rpc.Node) *api.NodeResources {
	return &api.NodeResources{
		Cpu:    api.NodeCpuResources{CpuShares: int64(n.Resources.CPUMHz)},
		Memory: api.NodeMemoryResources{MemoryMB: int64(n.Resources.MemoryMB)},
		Disk:   api.NodeDiskResources{DiskMB: int64(n.Resources.DiskMB)},
	}
}

func resources(r rpc.Resources) *api.Resources {
	return &api.Resources{CPU: new(r.CPUMHz), Cores: new(0), MemoryMB: new(r.MemoryMB), MemoryMaxMB: new(0), DiskMB: new(r.DiskMB)}
}

// drivers returns the drivers that a node's attributes name.
func drivers(n *rpc.Node) map[string]*api.DriverInfo {
	found := map[string]*api.DriverInfo{}
	for key := range n.Attributes {
		name, ok := strings.CutPrefix(key, "driver.")
		if ok && !strings.Contains(name, ".") {
			found[name] = &api.DriverInfo{
				Detected: true, Healthy: true, HealthDescription: "Healthy", UpdateTime: time.Unix(n.StatusUpdatedAt, 0).UTC(),
			}
		}
	}
	return found
}

func drain(d *rpc.DrainStrategy) *api.DrainStrategy {
	if d == nil {
		return nil
	}
	of := &api.DrainStrategy{DrainSpec: api.DrainSpec{Deadline: d.Deadline, IgnoreSystemJobs: d.IgnoreSystemJobs}}
	if d.ForceDeadline != 0 {
		of.ForceDeadline = time.Unix(0, d.ForceDeadline).UTC()
		of.StartedAt = of.ForceDeadline.Add(-d.Deadline)
	}
	return of
}

// lastDrain returns the latest drain of a node; nil if there was none. It has no AccessorID: there are no tokens of ACLs.
func lastDrain(s *state.Snapshot, n *rpc.Node) *api.DrainMetadata {
	d := s.LastDrain(n.ID)
	if d == nil {
		return nil
	}
	of := &api.DrainMetadata{StartedAt: time.Unix(d.StartedAt, 0).UTC(), UpdatedAt: time.Unix(d.UpdatedAt, 0).UTC(), Status: api.DrainStatus(d.Status)}
	_ = json.Unmarshal(d.Meta, &of.Meta) // DrainMeta wrote it
	return of
}

// DrainMeta returns what an operator notes of a drain as entries have it.
func DrainMeta(meta map[string]string) []byte {
	if len(meta) == 0 {
		return nil
	}
	text, _ := json.Marshal(meta) // texts only
	return text
}

// ToDrain returns what a user asks of a drain; nil ends one.
func ToDrain(spec *api.DrainSpec) *rpc.DrainStrategy {
	if spec == nil {
		return nil
	}
	return &rpc.DrainStrategy{Deadline: spec.Deadline, IgnoreSystemJobs: spec.IgnoreSystemJobs}
}
