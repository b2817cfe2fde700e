package scenarios

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/nodesim"
	"github.com/simctl/simctl/scenarios/internal/actions/operations"
	"github.com/simctl/simctl/scenarios/language"
)

// fleet returns the clients.
func (b *builder) fleet(force bool) (nodesim.Config, error) {
	f := b.def.Fleet
	cfg := nodesim.Config{ReportAllocs: b.cost.ReportAllocs}
	if f.ReportAllocations != nil {
		cfg.ReportAllocs = *f.ReportAllocations
	}
	cfg.RegisterStagger, cfg.RegisterRetry, cfg.FirstHeartbeat = f.RegisterStagger, f.RegisterRetry, f.FirstHeartbeat
	cfg.AllocSync, cfg.WatchBlock = f.AllocSync, f.WatchBlock
	for _, d := range []struct {
		name string
		from language.Distribution
		to   *nodesim.Delay
	}{{"start_delay", f.StartDelay, &cfg.Behaviour.StartDelay}, {"stop_delay", f.StopDelay, &cfg.Behaviour.StopDelay}} {
		switch d.from.Kind {
		case "", "constant":
			d.to.Min, d.to.Max = d.from.A, d.from.A
		case "uniform":
			d.to.Min, d.to.Max = d.from.A, d.from.B
		default:
			return cfg, b.def.Errorf(f.At, "Wrong distribution", "%s must be a duration or uniform(least, most).", d.name)
		}
	}
	for _, g := range f.Groups {
		if g.Nodes == 0 {
			continue // a variable may leave a group without clients
		}
		cfg.Nodes += g.Nodes
		found := nodesim.DefaultAttributes() // by fingerprinting
		maps.Copy(found, g.Attributes)
		cfg.Groups = append(cfg.Groups, nodesim.Group{
			Name: g.Name, Nodes: g.Nodes, Datacenter: g.Datacenter, NodeClass: g.Class, Attributes: found, Racks: g.Racks,
			Resources: operations.Resources(g.Resources, nodesim.DefaultResources), Latency: g.Latency,
		})
	}
	switch {
	case cfg.Nodes < 1:
		return cfg, b.def.Errorf(f.At, "No clients", "The groups of the fleet have no clients: there must be at least one.")
	case cfg.Nodes > maxNodes && !force:
		return cfg, b.def.Errorf(f.At, "Large fleet", "%d clients: more than %d take hours and many gigabytes; add --force if they are meant.", cfg.Nodes, maxNodes)
	case cfg.Nodes > nodesim.MaxNodes:
		return cfg, b.def.Errorf(f.At, "Large fleet", "%d clients: there must be %d at most.", cfg.Nodes, nodesim.MaxNodes)
	}
	return cfg, nil
}

// datacenters returns the datacenters of the fleet, in the order of the file.
func (b *builder) datacenters() []string {
	var all []string
	for _, g := range b.def.Fleet.Groups {
		if dc := cmp.Or(g.Datacenter, "dc1"); !slices.Contains(all, dc) {
			all = append(all, dc)
		}
	}
	return all
}

// makeJobs makes the jobs of every job block.
func (b *builder) makeJobs() error {
	b.setting.Jobs = map[string][]*rpc.Job{}
	total := 0
	for _, j := range b.def.Jobs {
		b.setting.Blocks = append(b.setting.Blocks, j.Name)
		one := b.job(j)
		if len(one.Datacenters) == 0 {
			return b.def.Errorf(j.At, "Nowhere to run", "Job %s names no datacenter, and so would run nowhere.", j.Name)
		}
		if j.Every != 0 && (j.Type != rpc.JobTypeBatch && j.Type != rpc.JobTypeSysBatch || j.Every < time.Second) {
			return b.def.Errorf(j.At, "Cannot be periodic", "Job %s, a %s job, launches every %v: batch and sysbatch jobs can, once a second at most.", j.Name, j.Type, j.Every)
		}
		if j.Copies == nil {
			one.ID = j.Name
			b.setting.Jobs[j.Name] = []*rpc.Job{one}
			continue
		}
		if total += *j.Copies; total > maxJobs {
			return b.def.Errorf(j.At, "Too many jobs", "%d jobs: there must be %d at most.", total, maxJobs)
		}
		for i := range *j.Copies {
			copied := *one
			copied.ID = fmt.Sprintf("%s-%03d", j.Name, i)
			b.setting.Jobs[j.Name] = append(b.setting.Jobs[j.Name], &copied)
		}
	}
	return nil
}

func (b *builder) job(j language.Job) *rpc.Job {
	group := rpc.TaskGroup{
		Name: "group", Count: 1, Resources: operations.Resources(j.Resources, operations.AllocResources),
		MaxClientDisconnect: j.MaxClientDisconnect, MaxParallel: j.MaxParallel,
	}
	if j.Count != nil {
		group.Count = *j.Count
	}
	job := &rpc.Job{
		Namespace: rpc.DefaultNamespace, Type: j.Type, Priority: cmp.Or(j.Priority, 50 /* structs.JobDefaultPriority */), Datacenters: j.Datacenters,
		TaskGroups: []rpc.TaskGroup{group},
	}
	if j.Every != 0 {
		job.Periodic = &rpc.PeriodicConfig{Every: j.Every, ProhibitOverlap: j.ProhibitOverlap}
	}
	if j.Datacenters == nil {
		job.Datacenters = b.datacenters()
	}
	return job
}
