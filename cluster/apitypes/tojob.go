package apitypes

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/simctl/simctl/cluster/rpc"
)

// ToJob returns the job that a user's definition stands for, and warnings about what of it
// does not count. It fills in the definition's defaults. The error says what no cluster, or
// not this one, can run.
func ToJob(def *api.Job) (job *rpc.Job, warnings []string, err error) {
	if def == nil {
		return nil, nil, errors.New("job must be specified")
	}
	def.Canonicalize()
	if err := check(def); err != nil {
		return nil, nil, err
	}
	job = &rpc.Job{
		Namespace: *def.Namespace, ID: *def.ID, Type: *def.Type, Priority: *def.Priority, Stop: *def.Stop,
		Datacenters: def.Datacenters,
	}
	if len(job.Datacenters) == 0 {
		job.Datacenters = []string{"*"} // since 1.7
	}
	if def.Periodic != nil && *def.Periodic.Enabled {
		if job.Periodic, err = toPeriodic(def.Periodic); err != nil {
			return nil, nil, err
		}
	}
	for _, g := range def.TaskGroups {
		job.TaskGroups = append(job.TaskGroups, toGroup(def, g))
	}
	if job.Definition, err = json.Marshal(bare(def)); err != nil {
		return nil, nil, fmt.Errorf("keep the definition of job %q: %w", job.ID, err)
	}
	return job, warningsOf(def), nil
}

// bare returns the definition without what the servers fill in.
func bare(def *api.Job) *api.Job {
	d := *def
	d.Status, d.StatusDescription, d.Stable, d.Version, d.SubmitTime = nil, nil, nil, nil, nil
	d.CreateIndex, d.ModifyIndex, d.JobModifyIndex, d.Stop, d.NomadTokenID = nil, nil, nil, nil, nil
	return &d
}

// check returns what is wrong with a definition, in the words of structs.Job.Validate where
// Nomad refuses it, too.
func check(def *api.Job) error {
	var wrong []error
	if *def.ID == "" {
		wrong = append(wrong, errors.New("missing job ID"))
	}
	if strings.ContainsAny(*def.ID, " \x00") {
		wrong = append(wrong, errors.New("job ID contains a space or a null character"))
	}
	switch *def.Type {
	case rpc.JobTypeService, rpc.JobTypeBatch, rpc.JobTypeSystem, rpc.JobTypeSysBatch:
	default:
		wrong = append(wrong, fmt.Errorf("invalid job type: %q", *def.Type))
	}
	if *def.Priority < 1 || *def.Priority > 100 {
		wrong = append(wrong, errors.New("job priority must be between [1, 100]"))
	}
	if len(def.TaskGroups) == 0 {
		wrong = append(wrong, errors.New("missing job task groups"))
	}
	names := map[string]bool{}
	for i, g := range def.TaskGroups {
		switch {
		case *g.Name == "":
			wrong = append(wrong, fmt.Errorf("job task group %d missing name", i+1))
		case names[*g.Name]:
			wrong = append(wrong, fmt.Errorf("job task group %q is there twice", *g.Name))
		case *g.Count < 0:
			wrong = append(wrong, fmt.Errorf("task group %q count must not be negative", *g.Name))
		case *g.Count > rpc.MaxCount:
			wrong = append(wrong, fmt.Errorf("task group %q count is %d, and this cluster takes at most %d", *g.Name, *g.Count, rpc.MaxCount))
		case len(g.Tasks) == 0:
			wrong = append(wrong, fmt.Errorf("missing tasks for task group %q", *g.Name))
		}
		names[*g.Name] = true
		wrong = append(wrong, checkResources(g)...)
	}
	switch {
	case def.IsParameterized():
		wrong = append(wrong, fmt.Errorf("job %q is parameterized, which this cluster does not support: register the jobs that it would dispatch", *def.ID))
	case def.IsMultiregion():
		wrong = append(wrong, fmt.Errorf("job %q has several regions, which this cluster does not support: register it without multiregion", *def.ID))
	}
	return errors.Join(wrong...)
}

// checkResources returns what Nomad would refuse of a group's resources (structs.go, MeetsMinResources), and numbers whose sums
// would not fit.
func checkResources(g *api.TaskGroup) (wrong []error) {
	between := func(whose, what string, value, least int) {
		if value < least || value > math.MaxInt32 {
			wrong = append(wrong, fmt.Errorf("%s of group %q: %s is %d, and must be from %d to %d", whose, *g.Name, what, value, least, math.MaxInt32))
		}
	}
	for _, t := range g.Tasks {
		leastCPU := 1
		if t.Resources.Cores != nil && *t.Resources.Cores > 0 {
			leastCPU = 0
		}
		between(fmt.Sprintf("task %q", t.Name), "CPU", *t.Resources.CPU, leastCPU)
		between(fmt.Sprintf("task %q", t.Name), "MemoryMB", *t.Resources.MemoryMB, 10)
	}
	if g.EphemeralDisk != nil {
		between("the ephemeral disk", "SizeMB", *g.EphemeralDisk.SizeMB, 10)
	}
	return wrong
}

// launches is how many launches in a row must be as far apart as the first two.
const launches = 400

// toPeriodic returns the interval that a cron expression stands for. The cluster knows no
// others than those whose launches are at the multiples of one duration.
func toPeriodic(p *api.PeriodicConfig) (*rpc.PeriodicConfig, error) {
	shown := cmp.Or(*p.Spec, strings.Join(p.Specs, ", "))
	refuse := fmt.Errorf("periodic %q in time zone %s does not launch at the multiples of one duration, which is all that this cluster supports: want one like \"*/15 * * * *\" in UTC", shown, *p.TimeZone)
	zone, err := p.GetLocation()
	if err != nil {
		return nil, fmt.Errorf("periodic time zone: %w", err)
	}
	at := time.Unix(0, 0).In(zone)
	var every time.Duration
	for i := range launches {
		next, err := p.Next(at)
		if err != nil {
			return nil, err
		}
		if i == 1 {
			every = next.Sub(at)
		}
		if next.IsZero() || i > 0 && (next.Sub(at) != every || next.UnixNano()%int64(every) != 0) {
			return nil, refuse
		}
		at = next
	}
	return &rpc.PeriodicConfig{Every: every, ProhibitOverlap: *p.ProhibitOverlap}, nil
}

func toGroup(def *api.Job, g *api.TaskGroup) rpc.TaskGroup {
	group := rpc.TaskGroup{Name: *g.Name, Count: *g.Count}
	for _, t := range g.Tasks {
		group.Resources = group.Resources.Add(rpc.Resources{CPUMHz: *t.Resources.CPU, MemoryMB: *t.Resources.MemoryMB})
	}
	if g.EphemeralDisk != nil {
		group.Resources.DiskMB = *g.EphemeralDisk.SizeMB
	}
	//lint:ignore SA1019 releases before 1.8 send no other
	lostAfter := g.MaxClientDisconnect
	if g.Disconnect != nil && g.Disconnect.LostAfter != nil {
		lostAfter = g.Disconnect.LostAfter
	}
	if lostAfter != nil {
		group.MaxClientDisconnect = *lostAfter
	}
	if u := g.Update; u != nil && *def.Type == rpc.JobTypeService {
		group.MaxParallel, group.ProgressDeadline = *u.MaxParallel, *u.ProgressDeadline
	}
	return group
}

// warningsOf names what of a definition would count in Nomad and does not here.
func warningsOf(def *api.Job) []string {
	w := &warner{}
	w.about("job "+*def.ID, map[string]bool{
		"constraint": len(def.Constraints) > 0, "affinity": len(def.Affinities) > 0, "spread": len(def.Spreads) > 0,
		"all_at_once": *def.AllAtOnce, "node_pool": *def.NodePool != "" && *def.NodePool != nodePool,
	})
	for _, g := range def.TaskGroups {
		w.about("group "+*g.Name, map[string]bool{
			"constraint": len(g.Constraints) > 0, "affinity": len(g.Affinities) > 0, "spread": len(g.Spreads) > 0,
			"network": len(g.Networks) > 0, "volume": len(g.Volumes) > 0,
			"update.canary": g.Update != nil && g.Update.Canary != nil && *g.Update.Canary > 0,
		})
		for _, t := range g.Tasks {
			r := t.Resources
			w.about("task "+t.Name, map[string]bool{
				"constraint": len(t.Constraints) > 0, "affinity": len(t.Affinities) > 0, "resources.network": len(r.Networks) > 0,
				"resources.device": len(r.Devices) > 0, "resources.cores": r.Cores != nil && *r.Cores > 0,
				"lifecycle": t.Lifecycle != nil,
			})
		}
	}
	return w.lines
}

type warner struct{ lines []string }

func (w *warner) about(what string, present map[string]bool) {
	var names []string
	for name, is := range present {
		if is {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		slices.Sort(names)
		w.lines = append(w.lines, fmt.Sprintf("%s: the simulated schedulers do not look at %s", what, strings.Join(names, ", ")))
	}
}
