package scenarios

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/nodesim"
	"github.com/simctl/simctl/scenarios/language"
)

// builder turns what a file says into a Scenario.
type builder struct {
	def  *language.Definition
	cost *Cost
	jobs map[string][]*rpc.Job // by the name of their block
	// actions counts what events do to jobs, one by one.
	actions int
	// clients is the fleet, and behaviours what it may do, by name.
	clients    nodesim.Config
	behaviours map[string]*Behaviour
	profiles   profiles
	// before is what has happened up to the event that is built.
	before history
	// read reads a file that the scenario's names.
	read readFunc
}

// vocabulary returns the words of this package, with the costs of the class that override
// names, or else the file does; cost is set to it.
func vocabulary(override string, cost **Cost, read readFunc) language.Vocabulary {
	return language.Vocabulary{
		Cluster: &defaultCluster,
		Costs: func(class string) (any, error) {
			if override != "" {
				class = override
			}
			c, err := loadCost(class, read)
			if bad, ok := errors.AsType[*InputError](err); ok { // no flag named the class
				if near := language.Suggest(class, CostNames()); near != "" {
					return nil, fmt.Errorf("%q is none, but %q is", class, near)
				}
				return nil, fmt.Errorf("%q: %s", class, strings.TrimSuffix(bad.Allowed, "."))
			}
			if err != nil {
				return nil, err
			}
			*cost = c
			return &c.Costs, nil
		},
		Events:     defaultsOf(eventWords),
		Conditions: defaultsOf(conditionWords),
		Behaviours: defaultsOf(behaviourWords),
	}
}

// Bounds of what a run accepts.
const (
	maxNodes = 1_000_000 // without force
	maxJobs  = 100_000

	maxActions = 1_000_000
)

// build works a definition out. An error is a *language.Error that shows the place.
func build(def *language.Definition, cost *Cost, force bool, read readFunc) (*Scenario, error) {
	b := &builder{def: def, cost: cost, jobs: map[string][]*rpc.Job{}, behaviours: map[string]*Behaviour{}, read: read}
	words := def.Cluster.(*clusterWords)
	b.profiles = profiles{words.Brokers, words.Evaluations}
	sc := &Scenario{
		Title: def.Title,
		Cluster: cluster.Config{
			Servers: words.Servers, NumSchedulers: words.Schedulers, BatchUpdateInterval: words.BatchUpdateInterval,
			Heartbeat: words.Heartbeat, Reaper: words.Reaper, Raft: words.Raft,
			GC: words.Garbage, PlanRejection: words.PlanRejection, DatacenterFilterOff: !words.DatacenterFilter,
			PauseEndsFailedReaper: words.PauseEndsFailedReaper,
			Costs:                 cost.Costs,
		},
		cost: cost, profiles: b.profiles,
	}
	if err := b.checkBrokers(); err != nil {
		return nil, err
	}
	var err error
	if sc.Fleet, err = b.fleet(force); err != nil {
		return nil, err
	}
	b.clients = sc.Fleet
	if err := b.makeJobs(); err != nil {
		return nil, err
	}
	if err := b.makeBehaviours(); err != nil {
		return nil, err
	}
	for _, p := range def.Phases {
		phase, err := b.phase(p, words.Servers)
		if err != nil {
			return nil, err
		}
		sc.Phases = append(sc.Phases, phase)
	}
	if err := b.checkSchedulers(words.Schedulers); err != nil {
		return nil, err
	}
	if sc.Thresholds, err = b.thresholds(); err != nil {
		return nil, err
	}
	return sc, nil
}

// checkSchedulers refuses jobs that nothing would ever place.
func (b *builder) checkSchedulers(from int) error {
	on := from > 0
	for _, p := range b.def.Phases {
		for _, e := range p.Events {
			if w, ok := e.Args.(*SetSchedulers); ok && w.PerServer > 0 {
				on = true
			}
		}
	}
	if on || len(b.def.Jobs) == 0 {
		return nil
	}
	return b.def.Errorf(b.def.Jobs[0].At, "No schedulers", "Nothing would ever place job %s: the servers have no scheduler workers. "+
		"Give them some, cluster { schedulers = 2 }, or turn them on by an event \"schedulers\".", b.def.Jobs[0].Name)
}

// entryTypes are the types of Raft entries that a run can count: Nomad's, then Raft's own.
// The list belongs to package cluster: cluster.EntryTypes is to replace it.
var entryTypes = []string{
	metrics.EntryNodeRegister, "NodeDeregisterRequestType", metrics.EntryNodeUpdateStatus, metrics.EntryJobRegister,
	metrics.EntryJobDeregister, metrics.EntryEvalUpdate, metrics.EntryEvalDelete, metrics.EntryAllocClientUpdate,
	metrics.EntryApplyPlanResults, "NodeUpdateDrainRequestType", "NodeUpdateEligibilityRequestType", "UpsertNodeEventsType",
	"SchedulerConfigRequestType", "AllocUpdateDesiredTransitionRequestType", "DeploymentStatusUpdateRequestType",
	"ScalingEventRegisterRequestType", "BatchNodeUpdateDrainRequestType", "NodeBatchDeregisterRequestType",
	"JobBatchDeregisterRequestType", "OneTimeTokenExpireRequestType",
	metrics.EntryRaftNoop, metrics.EntryRaftBarrier, "raft:Configuration",
}

// figureVocabulary returns what paths of figures of a scenario's runs can name.
func figureVocabulary(def *language.Definition) *metrics.Vocabulary {
	v := &metrics.Vocabulary{
		EntryTypes: entryTypes,
		EvalStatuses: []string{
			broker.StatusPending, broker.StatusBlocked, broker.StatusComplete, broker.StatusFailed, broker.StatusCanceled,
		},
	}
	for _, p := range def.Phases {
		v.Phases = append(v.Phases, p.Name)
	}
	return v
}

// thresholds works out what is demanded of the Results.
func (b *builder) thresholds() ([]metrics.Threshold, error) {
	vocabulary := figureVocabulary(b.def)
	var out []metrics.Threshold
	for _, t := range b.def.Thresholds {
		if err := vocabulary.CheckPath(t.Metric.Text); err != nil {
			u, hint := err.(*metrics.PathError), ""
			if near := language.Suggest(u.Name, u.Known); near != "" {
				hint = fmt.Sprintf(" Did you mean %q?", near)
			}
			return nil, b.def.Errorf(t.Metric.At, "Unknown metric", "%v.%s", err, hint)
		}
		for _, name := range []language.Name{t.Broker, t.MaxRatioOf} {
			if name.Text == "" {
				continue
			}
			if err := b.broker(name); err != nil {
				return nil, err
			}
		}
		one := metrics.Threshold{
			Name: t.Name, Metric: t.Metric.Text, Broker: t.Broker.Text, Max: t.Max, Min: t.Min,
			MaxRatio: t.MaxRatio, RatioOf: t.MaxRatioOf.Text, Tolerance: t.Tolerance,
		}
		switch {
		case t.MaxRatioOf.Text != "" && t.MaxRatio == nil:
			same := 1.0
			one.MaxRatio = &same
		case t.MaxRatioOf.Text == "" && t.MaxRatio != nil:
			return nil, b.def.Errorf(t.At, "Missing max_ratio_of", "max_ratio needs a broker to compare with: max_ratio_of.")
		}
		if one.Max == nil && one.Min == nil && one.MaxRatio == nil && one.Tolerance == nil {
			return nil, b.def.Errorf(t.At, "Nothing demanded", "The threshold demands nothing: say max, min, max_ratio_of or tolerance.")
		}
		out = append(out, one)
	}
	return out, nil
}

func (b *builder) phase(p language.Phase, servers int) (Phase, error) {
	out := Phase{Name: p.Name, Stall: p.Stall, Timeout: p.Timeout}
	for _, e := range p.Events {
		action, err := eventWords[e.Keyword].build(e.Args, b)
		if c, ok := action.(checkable); ok && err == nil {
			err = c.check(servers)
		}
		if err == nil {
			err = b.before.happens(action)
		}
		if err != nil {
			return out, b.def.Errorf(e.At, "Impossible event", "%v.", err)
		}
		out.Events = append(out.Events, Event{e.When, action})
	}
	var err error
	if out.Until, err = conditionWords[p.Until.Keyword].build(p.Until.Args, b); err != nil {
		return out, b.def.Errorf(p.Until.At, "Impossible condition", "%v.", err)
	}
	if e, ok := out.Until.(Elapsed); ok && out.Stall == 0 {
		out.Stall = e.For + defaultStall // quiet is no failure when only time is waited for
	}
	return out, nil
}

// makeBehaviours works out what clients may do; each must be begun somewhere.
func (b *builder) makeBehaviours() error {
	begun := map[string]bool{}
	for _, p := range b.def.Phases {
		for _, e := range p.Events {
			if w, ok := e.Args.(*beginWord); ok {
				begun[w.Behaviour] = true
			}
		}
	}
	for _, d := range b.def.Behaviours {
		made, err := behaviourWords[d.Kind].build(d.Args, b)
		if err != nil {
			return b.def.Errorf(d.At, "Impossible behaviour", "%v.", err)
		}
		if !begun[d.Name] {
			return b.def.Errorf(d.At, "Idle behaviour", "No event begins %q: add event \"begin\" { behaviour = %q } to a phase.", d.Name, d.Name)
		}
		made.Name = d.Name
		b.behaviours[d.Name] = made
	}
	return nil
}

// allocResources is what an allocation asks for unless its job says otherwise: small, so
// that nodes of any number of jobs stay within what a machine has.
var allocResources = rpc.Resources{CPUMHz: 20, MemoryMB: 32, DiskMB: 10}

func (b *builder) makeJobs() error {
	total := 0
	for _, j := range b.def.Jobs {
		one := b.job(j)
		if len(one.Datacenters) == 0 {
			return b.def.Errorf(j.At, "Nowhere to run", "Job %s names no datacenter, and so would run nowhere.", j.Name)
		}
		if j.Every != 0 && (j.Type != rpc.JobTypeBatch && j.Type != rpc.JobTypeSysBatch || j.Every < time.Second) {
			return b.def.Errorf(j.At, "Cannot be periodic", "Job %s, a %s job, launches every %v: batch and sysbatch jobs can, once a second at most.", j.Name, j.Type, j.Every)
		}
		if j.Copies == nil {
			one.ID = j.Name
			b.jobs[j.Name] = []*rpc.Job{one}
			continue
		}
		if total += *j.Copies; total > maxJobs {
			return b.def.Errorf(j.At, "Too many jobs", "%d jobs: there must be %d at most.", total, maxJobs)
		}
		for i := range *j.Copies {
			copied := *one
			copied.ID = fmt.Sprintf("%s-%03d", j.Name, i)
			b.jobs[j.Name] = append(b.jobs[j.Name], &copied)
		}
	}
	return nil
}

func (b *builder) job(j language.Job) *rpc.Job {
	group := rpc.TaskGroup{
		Name: "group", Count: 1, Resources: resources(j.Resources, allocResources),
		MaxClientDisconnect: j.MaxClientDisconnect, MaxParallel: j.MaxParallel,
	}
	if j.Count != nil {
		group.Count = *j.Count
	}
	job := &rpc.Job{
		Namespace: rpc.DefaultNamespace, Type: j.Type, Priority: j.Priority, Datacenters: j.Datacenters,
		TaskGroups: []rpc.TaskGroup{group},
	}
	if j.Every != 0 {
		job.Periodic = &rpc.PeriodicConfig{Every: j.Every, ProhibitOverlap: j.ProhibitOverlap}
	}
	if job.Priority == 0 {
		job.Priority = 50 // structs.JobDefaultPriority
	}
	if j.Datacenters == nil {
		job.Datacenters = b.datacenters()
	}
	return job
}

// resources returns what a block says, by default otherwise.
func resources(r *language.Resources, otherwise rpc.Resources) rpc.Resources {
	if r == nil {
		return otherwise
	}
	return rpc.Resources{CPUMHz: r.CPU, MemoryMB: r.Memory, DiskMB: r.Disk}
}
