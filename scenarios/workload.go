package scenarios

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/nodesim"
	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/actions/clients"
	"github.com/simctl/simctl/scenarios/internal/actions/operations"
	"github.com/simctl/simctl/scenarios/internal/behaviours"
	"github.com/simctl/simctl/scenarios/internal/conditions"
	"github.com/simctl/simctl/scenarios/internal/run"
	"github.com/simctl/simctl/scenarios/language"
)

// fleet returns the clients.
func (b *builder) fleet(spec Spec) (nodesim.Config, error) {
	f := b.def.Fleet
	cfg := nodesim.Config{ReportAllocs: b.cost.ReportAllocs}
	if said := cmp.Or(f.ReportAllocations, spec.Reports); said != nil {
		cfg.ReportAllocs = *said
	}
	cfg.RegisterStagger, cfg.RegisterRetry, cfg.FirstHeartbeat = f.RegisterStagger, f.RegisterRetry, f.FirstHeartbeat
	cfg.AllocSync, cfg.WatchBlock = f.AllocSync, f.WatchBlock
	cfg.Behaviour = nodesim.Behaviour{StartDelay: delay(f.StartDelay), StopDelay: delay(f.StopDelay), RunFor: delay(f.RunFor)}
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
	case cfg.Nodes > maxNodes && !spec.Force:
		return cfg, b.def.Errorf(f.At, "Large fleet", "%d clients: more than %d take hours and many gigabytes; add --force if they are meant.", cfg.Nodes, maxNodes)
	case cfg.Nodes > nodesim.MaxNodes:
		return cfg, b.def.Errorf(f.At, "Large fleet", "%d clients: there must be %d at most.", cfg.Nodes, nodesim.MaxNodes)
	}
	return cfg, nil
}

// delay returns a distribution that is constant or uniform as a Delay.
func delay(d language.Distribution) nodesim.Delay {
	if d.Kind == "uniform" {
		return nodesim.Delay{Min: d.A, Max: d.B}
	}
	return nodesim.Delay{Min: d.A, Max: d.A}
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

// Fleet returns the scenario's clients for servers elsewhere. It has no Servers and no Dial.
// The clients report their allocations unless the file says that they do not: what costs
// classes leave out was never meant for such servers.
func (c *Compiled) Fleet() nodesim.Config {
	cfg := c.scenario.Fleet
	cfg.ReportAllocs = c.def.Fleet.ReportAllocations == nil || *c.def.Fleet.ReportAllocations
	return cfg
}

// Behaviours returns what the scenario's clients do by themselves, in the order of the file.
func (c *Compiled) Behaviours() []*behaviours.Behaviour { return c.behaviours }

// Load is what a run has to do as far as the scenario's text says so. What follows from how the run
// goes, such as the drain of a backlog, is no part of it.
type Load struct {
	Virtual     time.Duration // how long the phases last at least
	Evaluations float64       // because of jobs and updates, and of clients that start, stop, return or change
	Allocs      float64       // placed for the first time
	Looks       float64       // how often evaluations of service jobs look at an allocation of their job
	// Retries is how often an evaluation that waits for room is tried again, and Searches at how
	// many nodes it then looks.
	Retries, Searches float64
	// Vain is how often an evaluation is tried again because a batch job has ended, and finds the room taken
	// by others. It writes nothing.
	Vain float64
	// Busy is the share of the leader's cores that heartbeats take at rest.
	Busy float64
}

// Load returns what a run has to do at least.
func (c *Compiled) Load() Load {
	size := c.Size()
	w := loading{compiled: c, size: size, groups: behaviours.Groups(c.scenario.Fleet), lacking: c.lacking(), going: map[string]underWay{}, counts: map[string]int{}}
	for _, j := range c.registered() {
		w.counts[j.ID] = j.TaskGroups[0].Count
	}
	w.load.Allocs = float64(size.Nodes*size.SystemJobs + size.ServiceAllocs)
	w.load.Busy = c.busy()
	for _, p := range c.scenario.Phases {
		w.phase(p)
	}
	return w.load
}

// loading goes through a scenario and adds up its load.
type loading struct {
	compiled         *Compiled
	size, registered Size
	groups           []behaviours.Group
	lacking          func(away float64) float64
	going            map[string]underWay
	stopped          float64        // clients, until they are resumed
	keeps            time.Duration  // how long jobs keep allocations of clients that lose the servers
	kept             time.Duration  // until when they keep some
	counts           map[string]int // of the first group of each job
	rollout          time.Duration  // what an update of a system job takes in this phase
	load             Load
}

// underWay is a behaviour, and since when it goes on.
type underWay struct {
	*behaviours.Behaviour
	since time.Duration
}

func (w *loading) phase(p run.Phase) {
	began, lasts := w.load.Virtual, p.Until.Hold()
	for _, e := range p.Events {
		w.event(e.Action, began+e.At)
		after := e.At
		if a, ok := e.Action.(operations.SubmitJobs); ok {
			if _, ok := p.Until.(conditions.Slow); ok { // nobody knows when: half of the way
				a.Jobs = a.Jobs[:(len(a.Jobs)+1)/2]
			}
			after += w.submit(a)
		}
		lasts = max(lasts, after+p.Until.Hold())
	}
	lasts, w.rollout = max(lasts, w.rollout), 0
	if _, ok := p.Until.(conditions.Quiescence); ok { // waits for what is tried again when they are lost
		lasts = max(lasts, w.kept-began)
	}
	w.load.Virtual += lasts
	for _, name := range slices.Sorted(maps.Keys(w.going)) { // sums of floats depend on their order
		w.behave(name, w.load.Virtual)
	}
}

func (w *loading) event(a actions.Action, at time.Duration) {
	switch a := a.(type) {
	case actions.Registration:
		w.registered.add(a.Registers())
		for _, j := range a.Registers() {
			for _, g := range j.TaskGroups {
				w.keeps = max(w.keeps, g.MaxClientDisconnect)
			}
		}
	case clients.StopClients:
		n := a.Disturbs(w.groups)
		w.disturb(n, 0)
		if a.For == 0 {
			w.stopped += n
		}
		w.kept = max(w.kept, at+w.keeps)
	case clients.ResumeClients:
		w.disturb(w.stopped, 0)
		w.stopped = 0
	case actions.Disturbance:
		w.disturb(a.Disturbs(w.groups), 0)
	case clients.BeginBehaviour:
		w.going[a.Behaviour.Name] = underWay{a.Behaviour, at}
	case clients.EndBehaviour:
		w.behave(a.Behaviour, at)
		delete(w.going, a.Behaviour)
	case operations.UpdateJob:
		w.update(a.Job)
	case operations.ScaleJob:
		w.scale(a)
	case operations.Series:
		for _, one := range a.Actions {
			w.event(one, at)
		}
	}
}

// behave adds what a behaviour did up to an instant.
func (w *loading) behave(name string, until time.Duration) {
	b, ok := w.going[name]
	if !ok {
		return
	}
	w.disturb(b.Acts(w.groups, until-b.since), b.Away(w.groups)/float64(w.size.Nodes))
	w.going[name] = underWay{b.Behaviour, until}
	if until > b.since && b.Away(w.groups) > 0 {
		w.kept = max(w.kept, until+w.keeps)
	}
}

// disturb adds what follows when clients start, stop, return or change so many times, while a share of the
// clients is away on average. Each time, every job on the client is evaluated. Half of the times a client
// returns, and every job that waits for room is tried again.
func (w *loading) disturb(times, away float64) {
	r := w.registered
	jobs := float64(max(r.ServiceJobs, 1))
	services := times * min(float64(r.ServiceAllocs)/float64(w.size.Nodes), float64(r.ServiceJobs))
	if w.keeps > 0 {
		services *= 2 // when they are lost, and when they are kept no longer
	}
	w.load.Evaluations += times*float64(r.SystemJobs) + services
	w.load.Looks += services * float64(r.ServiceAllocs) / jobs
	if r.ServiceJobs > 0 {
		retries := times / 2 * min(float64(r.ServiceJobs), w.lacking(away))
		w.load.Retries += retries
		w.load.Searches += retries * float64(w.size.Nodes)
	}
}

// triesAWave is how often the evaluations that wait are tried while all jobs that have room end once. These
// jobs end at about the same time, but not at one instant. It was 1.7 to 6.3 in runs of 500 to 6,000 jobs, of
// which 20 or 100 find room, whatever the number of workers.
const triesAWave = 4

// submit adds what it costs to submit jobs one after the other, and returns how long that goes on. Batch
// jobs that find no room are tried each time that others end.
func (w *loading) submit(a operations.SubmitJobs) time.Duration {
	share, allocs := w.compiled.fitting(a.Jobs, w.compiled.registered())
	jobs, lasts := float64(len(a.Jobs)), a.Lasts()
	w.load.Evaluations += jobs
	w.load.Allocs += allocs
	runs := w.compiled.scenario.Fleet.Behaviour.RunFor.Mean()
	fit := jobs * share(0)
	if jobs == 0 || a.Jobs[0].Type != rpc.JobTypeBatch || runs == 0 || fit == 0 || jobs*runs.Seconds() <= fit*lasts.Seconds() {
		return lasts
	}
	waves := jobs / fit
	w.load.Vain += triesAWave * waves * (jobs - fit) / 2
	return max(lasts, time.Duration(waves*float64(runs)))
}

// update adds what a new version of a job costs. A service job or a system job is updated in steps of
// MaxParallel allocations, and each step looks at all of its allocations. A system job waits between its steps,
// but not while clients come and go.
func (w *loading) update(j *rpc.Job) {
	for _, g := range j.TaskGroups {
		count := float64(g.Count)
		switch j.Type {
		case rpc.JobTypeSystem:
			count = float64(w.size.Nodes)
		case rpc.JobTypeService:
		default:
			continue
		}
		steps := 1.0
		if g.MaxParallel > 0 {
			steps = math.Ceil(count / float64(g.MaxParallel))
		}
		if j.Type == rpc.JobTypeSystem && len(w.going) == 0 {
			w.rollout = max(w.rollout, time.Duration(steps-1)*rpc.UpdateStagger)
		}
		w.load.Evaluations += steps
		w.load.Looks += steps * count
		w.load.Allocs += count
	}
}

// scale adds what it costs that a job has another count: that many allocations begin or end.
func (w *loading) scale(a operations.ScaleJob) {
	was := w.counts[a.Job]
	w.counts[a.Job] = a.Count
	w.load.Evaluations++
	w.load.Looks += float64(max(was, a.Count))
	w.load.Allocs += math.Abs(float64(a.Count - was))
}

// lacking returns how many allocations of the service jobs find no room if a share of the clients
// is away.
func (c *Compiled) lacking() func(away float64) float64 {
	share, allocs := c.fitting(c.registered(), nil)
	return func(away float64) float64 { return (1 - share(away)) * allocs }
}

// fitting returns a function of the share of clients that are away. It returns what share of the allocations of
// jobs finds room beside the other jobs. Fitting also returns how many allocations jobs have. System jobs among
// jobs do not count: they take room from the others.
func (c *Compiled) fitting(jobs, others []*rpc.Job) (share func(away float64) float64, allocs float64) {
	var room, asked [3]float64
	add := func(to *[3]float64, r rpc.Resources, times int) {
		for i, v := range [...]int{r.CPUMHz, r.MemoryMB, r.DiskMB} {
			to[i] += float64(v * times)
		}
	}
	for _, g := range c.scenario.Fleet.Groups {
		add(&room, g.Resources, g.Nodes)
	}
	for i, j := range slices.Concat(jobs, others) {
		for _, g := range j.TaskGroups {
			switch system := j.Type == rpc.JobTypeSystem || j.Type == rpc.JobTypeSysBatch; {
			case system:
				add(&room, g.Resources, -c.scenario.Fleet.Nodes)
			case i >= len(jobs):
				add(&room, g.Resources, -g.Count)
			default:
				add(&asked, g.Resources, g.Count)
				allocs += float64(g.Count)
			}
		}
	}
	return func(away float64) float64 {
		share := 1.0
		for i := range asked {
			if asked[i] > 0 {
				share = min(share, max(room[i]*(1-away)/asked[i], 0))
			}
		}
		return share
	}, allocs
}

// busy returns the share of the leader's cores that heartbeats take at rest.
func (c *Compiled) busy() float64 {
	costs := c.cost.Costs
	if costs.Cores == 0 {
		return 0
	}
	cfg, nodes := c.scenario.Cluster.WithDefaults().Heartbeat, float64(c.scenario.Fleet.Nodes)
	// A client waits for once to twice the TTL.
	every := 1.5 * max(cfg.MinTTL.Seconds(), nodes/cfg.MaxPerSecond)
	beat := costs.RPC.Serve + costs.RPC.Heartbeat
	if c.scenario.Cluster.Habits.ClientIdentities {
		beat += costs.RPC.Verify
	}
	return nodes / every * beat.Seconds() / float64(costs.Cores)
}
