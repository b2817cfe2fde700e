package closedform

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/scenarios"
)

// Input is a letter of the formulae and its value.
type Input struct {
	Symbol string
	Title  string
	Unit   string // empty for a number
	Value  float64
}

// inputs are the letters of a Spec. Times are in seconds.
type inputs struct {
	n, s, j, k float64 // nodes, system jobs, service jobs, all jobs
	a          float64 // service jobs with an allocation on a node
	m          float64 // share of the nodes that fall silent
	servers    float64
	allocs     float64 // service allocations a node

	leading, following float64 // workers that serve, on the leader and on the others
	tSystem            float64 // one system evaluation that changes nothing
	rate               float64 // such system evaluations a second
	stormRate          float64 // evaluations of either kind a second, as a storm mixes them
	rateBound          string  // what keeps rate from being higher
	stormBound         string  // and stormRate
	place              float64 // placing everything
	reports            float64 // entries in which clients report that it runs

	batch, interval float64 // of the reaper of cancelable evaluations
	ttl, grace      float64
	shedding        bool
}

// Scenario is the scenario that the formulae describe.
const Scenario = "heartbeat-storm"

// settings are the variables of the storm by name, as numbers; true is 1.
type settings map[string]float64

// settingsOf returns the variables of a run of the storm, and the class of its machines.
func settingsOf(spec scenarios.Spec) (settings, *scenarios.Cost, error) {
	if spec.Scenario != Scenario || spec.Source != "" {
		return nil, nil, fmt.Errorf("there are no formulae for the scenario %s: only for %s", spec.Scenario, Scenario)
	}
	run, err := scenarios.Compile(spec)
	if err != nil {
		return nil, nil, err
	}
	out := settings{}
	for _, v := range run.Variables() {
		switch x := v.Value.(type) {
		case int64:
			out[v.Name] = float64(x)
		case float64:
			out[v.Name] = x
		case bool:
			out[v.Name] = map[bool]float64{true: 1}[x]
		}
	}
	return out, run.Machines(), nil
}

// inputsOf returns the letters of a run. The error says why there are none.
func inputsOf(spec scenarios.Spec) (inputs, error) {
	set, cost, err := settingsOf(spec)
	if err != nil {
		return inputs{}, err
	}
	in := inputs{
		servers: set["servers"], allocs: set["allocs_per_node"],
		n: set["nodes"], s: set["system_jobs"], j: set["service_jobs"], m: set["fraction"],
		batch: set["reaper_batch"], interval: set["reaper_interval_s"], grace: set["heartbeat_grace_s"],
		ttl: math.Max(set["min_heartbeat_ttl_s"], set["nodes"]/set["max_heartbeats_per_second"]),
	}
	in.k = in.s + in.j
	in.a = math.Min(in.j, in.allocs)
	switch {
	case spec.Broker == broker.Legacy().String():
	case spec.Broker == broker.Shedding().String():
		in.shedding = true
	default:
		return inputs{}, fmt.Errorf("there are no formulae for the broker %s: only for %s and %s", spec.Broker, broker.Legacy(), broker.Shedding())
	}
	paused := 0.0
	if set["schedulers"] > 1 {
		paused = math.Floor(3 * set["schedulers"] / 4)
	}
	in.leading, in.following = set["schedulers"]-paused, (in.servers-1)*set["schedulers"]
	reporting := cost.ReportAllocs
	if own, ok := set["report_allocations"]; ok {
		reporting = own == 1
	}
	in.chargeEvals(&cost.Costs)
	in.chargePlacing(&cost.Costs, reporting)
	return in, nil
}

// scheduling returns how long the schedulers take for an evaluation that changes nothing.
func (in *inputs) scheduling(c *cluster.Costs) (ofSystem, ofService float64) {
	system, service := c.Scheduler[rpc.JobTypeSystem], c.Scheduler[rpc.JobTypeService]
	cached := 1.0
	if system.HalfCached > 0 {
		cached = in.n / (in.n + float64(system.HalfCached))
	}
	perNode := system.PerNode + system.PerReadyNode + system.PerLiveAlloc
	ofSystem = system.Base.Seconds() + in.n*perNode.Seconds()*cached
	ofService = service.Base.Seconds() + in.n*service.PerNode.Seconds()
	if in.j > 0 {
		count := in.allocs * in.n / in.j
		ranked := service.PerScored.Seconds() + (in.s+in.allocs)*service.PerProposed.Seconds()
		ofService += count*service.PerLiveAlloc.Seconds() + service.PerPlacement.Seconds() + math.Log2(in.n+1)*ranked
	}
	return ofSystem, ofService
}

// chargeEvals works out how fast evaluations are processed that change nothing.
func (in *inputs) chargeEvals(c *cluster.Costs) {
	link := c.ServerLink.Latency.Seconds() + c.ServerLink.Jitter.Seconds()/2
	call := 2*link + c.RPC.Serve.Seconds() + c.RPC.Send.Seconds()
	scan := in.n * c.RPC.WaitIndexScan.Seconds()
	fsm := c.FSM.Entry.Seconds() + c.FSM.Eval.Seconds()
	waits := float64(c.Raft.Waits()) * (c.Fsync + c.Raft.Resume).Seconds()
	commit := c.Raft.Dispatch.Seconds() + c.Raft.Append.Seconds() + 2*waits + 2*link + fsm
	calls := 3*call + commit + scan // dequeue, update and ack; the update is an entry

	schedSystem, schedService := in.scheduling(c)
	in.tSystem = schedSystem + calls

	// An evaluation leaves an allocation and itself in the state, for each job and node.
	with := func(leaves float64) float64 {
		return 1 + c.Collecting(time.Second, leaves, int(in.n*(1+2*in.k))).Seconds()
	}
	rate := func(sched float64) (float64, string) {
		leader := c.Raft.Dispatch.Seconds() + with(0)*fsm + 3*c.RPC.Serve.Seconds() + scan
		if c.Pooled {
			leader += with(c.Scheduler[rpc.JobTypeSystem].Garbage)*sched + with(0)*(in.servers-1)*fsm + (in.servers-1)*c.Raft.Append.Seconds() + 3*c.RPC.Send.Seconds()
		}
		bound := math.Inf(1)
		if c.Cores > 0 && leader > 0 {
			bound = float64(c.Cores) / leader
		}
		switch pace := in.pace(sched + calls); {
		case bound < pace:
			return bound, "as fast as the leader's cores allow"
		case in.k <= in.leading+in.following:
			return pace, "with one worker a job, as no job is processed twice at a time"
		default:
			return pace, "as fast as the workers can"
		}
	}
	in.rate, in.rateBound = rate(schedSystem)
	mixed := schedSystem
	if in.s+in.a > 0 {
		mixed = (in.s*schedSystem + in.a*schedService) / (in.s + in.a)
	}
	in.stormRate, in.stormBound = rate(mixed)
}

// chargePlacing works out how long it takes to place everything. Plans are verified and applied one after the
// other, but others are made meanwhile.
func (in *inputs) chargePlacing(c *cluster.Costs, reporting bool) {
	system := c.Scheduler[rpc.JobTypeSystem]
	coding := c.Plan.PerAlloc + c.Plan.PerForward + c.Plan.PerResult // most plans are followers'
	alloc := coding + c.Plan.PerPlace + c.Plan.PerWrite + cmp.Or(c.FSM.Place, c.FSM.Alloc)
	full := math.Max(0, in.s+in.allocs-1) // on the node of the last placement
	in.place = alloc.Seconds() + full/2*c.Plan.PerProposed.Seconds()
	if reporting {
		in.place += cmp.Or(c.FSM.Report, c.FSM.Alloc).Seconds()
		busy := 0.0
		if c.Cores > 0 {
			in.place += (queriesPerReport*c.RPC.Query + 2*c.RPC.Serve).Seconds() / (float64(c.Cores) * in.servers)
			busy = in.n * (c.RPC.Serve + c.RPC.Send).Seconds() / float64(c.Cores)
		}
		// The leader's clients have batches of their own, and so has each other server.
		in.reports = in.k * (in.n/in.servers + (in.servers-1)*math.Max(1, busy/batchUpdateInterval))
	}
	in.place *= in.n * (in.s + in.allocs)
	in.place += in.n*((system.PerPlacement+coding).Seconds()+full*system.PerProposed.Seconds()) + in.reports*c.Raft.Dispatch.Seconds()
}

// queriesPerReport is how often a server is asked about an allocation that is placed and reported:
// a query runs again, the allocation is fetched, and the query is made again. The report changes
// the allocation, so all this happens once more, less the fetching.
const queriesPerReport = 5

// batchUpdateInterval is how long, in seconds, a server gathers reports of allocations
// (nomad/node_endpoint.go, batchUpdateInterval).
const batchUpdateInterval = 0.05

// catchUp is how long, in seconds, a follower's worker waits if its server is behind: it looks
// again after 20 ms, too early, and then after 320 ms more (state_store.go, SnapshotMinIndex).
const catchUp = 0.34

// pace returns how many evaluations a second the workers take if each takes t.
//
// With more jobs than workers an evaluation waits for its turn, and by then servers have the
// entry of the evaluation before it. A follower's worker loses about the time between two
// entries to that entry and to others that want its core, so r = leading/t + following/(t +
// 1/r), which pace solves. Simulations show this loss; no law says it. With fewer jobs the
// next evaluation of a job follows right on the one before, and followers have to catch up.
func (in *inputs) pace(t float64) float64 {
	if t <= 0 {
		return math.Inf(1)
	}
	if workers := in.leading + in.following; in.k <= workers {
		return in.k / (t + in.following/workers*catchUp)
	}
	b := 1 - in.leading - in.following
	return (-b + math.Sqrt(b*b+4*in.leading)) / 2 / t
}

// list returns the letters for people.
func (in *inputs) list() []Input {
	return []Input{
		{"N", "nodes", "", in.n},
		{"S", "system jobs", "", in.s},
		{"J", "service jobs", "", in.j},
		{"a", "service jobs with an allocation on a node: the smaller of J and allocations a node", "", in.a},
		{"m", "share of the nodes that fall silent", "", in.m},
		{"w", "workers that serve: the leader pauses 3/4 of its own, rounded down", "", in.leading + in.following},
		{"T", "one evaluation of a system job that changes nothing: scheduling, calls, its Raft entry", "s", in.tSystem},
		{"r", "such evaluations a second: r = l/T + f/(T + 1/r), l workers on the leader, f elsewhere; r = K/(T + 0.34 s·f/w) if K ≤ w; at most what the cores allow", "1/s", in.rate},
		{"q", "the same for the mix of a storm: S system and a service jobs a node", "1/s", in.stormRate},
		{"P", "placing every allocation once: plans are applied one after the other", "s", in.place},
		{"u", "entries in which clients report that allocations run: 50 ms of their calls in one, at least one a job", "", in.reports},
		{"B", "evaluations in one cancel entry", "", in.batch},
		{"I", "time between two of them", "s", in.interval},
		{"h", "shortest TTL of a heartbeat: max(min_heartbeat_ttl, N/max_heartbeats_per_second)", "s", in.ttl},
		{"g", "heartbeat_grace", "s", in.grace},
	}
}
