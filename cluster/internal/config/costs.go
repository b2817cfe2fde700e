package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/simctl/simctl/cluster/simnet"
)

// Costs says what work costs on one class of machines: the cost model. Computing takes
// no virtual time by itself, so whatever takes time in a real cluster is charged here.
// CPU costs are charged to the cores of the server that does the work; the rest are
// plain delays. The zero value makes everything free.
type Costs struct {
	// Cores is the number of cores of each server, or of all servers together when
	// Pooled. Zero makes CPU work free.
	Cores  int
	Pooled bool
	// Processors is how many goroutines of a server run at a time, as Go's GOMAXPROCS is. Each runs on a thread, and
	// threads share the cores as on Linux (package cpu, Machine). With zero there are no threads: the tasks of servers
	// take turns on the cores (package cpu, Pool).
	Processors int
	// ExitLatency is how long an idle core takes to run a thread again, if the servers have Processors.
	ExitLatency time.Duration
	// ThreadWake is spent on top of work for which a thread of its server must be woken, if the servers have Processors. It is for
	// several threads: one reads the call, the next one serves it, and so on, and each goes to sleep again. Idle does not
	// include it.
	ThreadWake time.Duration

	// ServerLink and ClientLink are one-way delays.
	ServerLink simnet.Link
	ClientLink simnet.Link
	// Fsync is what a write to the Raft log waits for the disk, as often as RaftCosts.Syncs
	// says. Entries that arrive in the meantime share the next write.
	Fsync time.Duration

	RPC       RPCCosts
	Raft      RaftCosts
	FSM       FSMCosts
	Scheduler map[string]SchedulerCosts // by job type
	Plan      PlanCosts

	Deployment DeploymentCosts

	// Garbage is the CPU time of collecting garbage, per unit of the time of the work that left it:
	// that of schedulers, the FSM and the plan applier, of writing plans to the log (PerPlanKiB),
	// and of the drainer's reads (NodeWatch). Collecting takes cores, but delays nobody directly.
	// Collection.Garbage, if it is set, replaces it.
	Garbage    float64
	Collection CollectionCosts

	// Idle is what each server spends in every second, whatever there is to do: gossip, timers, metrics.
	Idle       time.Duration
	Monitoring MonitoringCosts
}

// Validate reports figures that say nothing without others.
func (c *Costs) Validate() error {
	if heap := c.Collection; heap.Garbage > 0 {
		if heap.BaseKiB == 0 {
			return fmt.Errorf("collection.garbage is %v, and nothing lives: set base_kib", heap.Garbage)
		}
		return nil
	}
	const alone = "%s is %v, and collection has no garbage: set it, too"
	if g := c.Collection.Others; g > 0 {
		return fmt.Errorf(alone, "collection.others", g)
	}
	if g := c.Raft.PlanGarbage; g > 0 {
		return fmt.Errorf(alone, "raft.plan_garbage", g)
	}
	if g := c.FSM.Garbage; g > 0 {
		return fmt.Errorf(alone, "fsm.garbage", g)
	}
	for _, kind := range slices.Sorted(maps.Keys(c.Scheduler)) {
		if g := c.Scheduler[kind].Garbage; g > 0 {
			return fmt.Errorf(alone, "scheduler."+kind+".garbage", g)
		}
	}
	return nil
}

// CollectionCosts is the CPU time of marking a server's heap, and how fast the heap fills. With it, servers on threads
// collect garbage as Go does (package cpu, heap): they mark now and then, and are slow while they do. With the zero
// value, all work is slowed evenly by Costs.Garbage.
type CollectionCosts struct {
	Base   time.Duration
	PerRow time.Duration // for each row of the state
	// HalfCached is the number of rows at which half of the reads miss the processor's caches, as in SchedulerCosts.
	HalfCached int

	// Garbage is the KiB that work allocates in each microsecond. If it is set, it replaces Costs.Garbage. A cycle ends
	// when work has allocated as much as the live data, which are BaseKiB, and RowKiB for each row.
	Garbage float64
	// Others is the same for work that Costs.Garbage is not for: calls, other writes to the log and the watchers of
	// deployments. Signatures allocate nothing. Zero means that this other work allocates nothing, either.
	Others  float64
	BaseKiB float64
	RowKiB  float64
}

// Mark returns the CPU time that marking takes while the state has so many rows.
func (c CollectionCosts) Mark(rows int) time.Duration {
	return c.Base + Uncached(time.Duration(rows)*c.PerRow, rows, c.HalfCached)
}

// Collecting returns the CPU time that it takes to collect the garbage of work that takes d, while the state has so many
// rows. The work allocates leaves KiB in each microsecond; zero means Collection.Garbage.
func (c *Costs) Collecting(d time.Duration, leaves float64, rows int) time.Duration {
	heap := c.Collection
	if heap.Garbage == 0 {
		return time.Duration(c.Garbage * float64(d))
	}
	left := cmp.Or(leaves, heap.Garbage) * d.Seconds() * 1e6
	return time.Duration(float64(heap.Mark(rows)) * left / (heap.BaseKiB + float64(rows)*heap.RowKiB))
}

// MonitoringCosts is what it costs to watch real servers as simctl does: by HTTP, on their cores. A cluster with
// such costs is sampled as a real one is: a second after the last sample was taken, which takes as long as answers do,
// and from gauges that are up to a second old.
type MonitoringCosts struct {
	// Base is what simctl itself spends on a sample, and PerNode on top for each client.
	Base    time.Duration
	PerNode time.Duration
	// PerEval is spent by the leader on each evaluation in its state when it is asked how many have a status
	// (nomad/eval_endpoint.go, Count). While the log grows, it is only asked how many are canceled. After each answer it
	// is left alone for Rests times as long as the answer took, ten seconds at most. When the log rests, it is asked
	// about all five statuses until two counts are the same. Releases before 1.4.3 do not count, and are not asked.
	PerEval time.Duration
	Rests   int
}

// RPCCosts is CPU time around remote calls.
type RPCCosts struct {
	// Serve is spent by the server that answers a call, Send by the server that makes
	// one or forwards it.
	Serve time.Duration
	Send  time.Duration
	// Answer is spent by a server on the answer to a call of its own or one that it has forwarded.
	Answer time.Duration
	// ClientServe, ClientSend and ClientAnswer are the same for calls of nodes' clients, which say less than servers'. Zero means
	// as for others.
	ClientServe  time.Duration
	ClientSend   time.Duration
	ClientAnswer time.Duration
	// Query is spent by a server on telling a client of its allocations, and again when it asks
	// for them, or when its query has waited.
	Query time.Duration
	// Verify is spent on the identity of a client that calls, where clients have one (nomad/auth/auth.go, AuthenticateClientOnly, since
	// v1.11.0): by the server that it calls, and again by the leader if it is the leader that answers. Those that register have none yet.
	Verify time.Duration
	// Client is what a client's call costs the client, if clients share the servers' cores.
	Client time.Duration
	// Heartbeat is spent by the leader on a heartbeat that changes nothing.
	Heartbeat time.Duration
	// NodeEval is spent by the leader on each evaluation made for a node.
	NodeEval time.Duration
	// Reap is spent by the leader on a batch of evaluations that the broker shed, before it is taken from the broker
	// (nomad/leader.go, cancelCancelableEvals).
	Reap time.Duration
	// NodeCount is spent by the leader on each node it knows, at every registration and every
	// heartbeat: the answer says how many there are (nomad/node_endpoint.go,
	// constructNodeServerInfoResponse).
	NodeCount time.Duration
	// NodeRecount replaces NodeCount while the nodes are in the processor's caches: if they were counted less than 10 ms
	// ago, or no scheduler works. NodeWatch falls in the same proportion if no scheduler works. Zero means NodeCount.
	NodeRecount time.Duration
	// NodeWatch is spent by the leader on each node it knows when one has changed: the drainer
	// looks at all of them, up to a hundred times a second (nomad/drainer/watch_nodes.go).
	NodeWatch time.Duration
	// Wake is how long the goroutine of a waiting dequeue takes to wake up when an evaluation is ready. A dequeue that comes
	// meanwhile gets the evaluation. As a rule that is the leader's own worker, which asks as soon as it has acked
	// (nomad/eval_broker.go, Dequeue). Wake is no CPU time.
	Wake time.Duration
	// WaitIndexScan is spent by the leader at every dequeue on each evaluation that
	// the state holds of the dequeued job (nomad/eval_endpoint.go, getWaitIndex).
	WaitIndexScan time.Duration
}

// OfClients returns the costs with those of clients' calls in the place of others'.
func (c RPCCosts) OfClients() RPCCosts {
	c.Serve, c.Send, c.Answer = cmp.Or(c.ClientServe, c.Serve), cmp.Or(c.ClientSend, c.Send), cmp.Or(c.ClientAnswer, c.Answer)
	return c
}

// RaftCosts is CPU time of the Raft machinery.
type RaftCosts struct {
	// Dispatch is spent by the leader and Append by each follower on a write to the log.
	Dispatch time.Duration
	Append   time.Duration
	// Receive is spent on top by a follower on a request with entries before it stores them, and by
	// the leader on each answer.
	Receive time.Duration
	// PerEntry is spent on top, by leader and followers, on each entry of a write but the first, and PerKiB on each KiB
	// of all. PerPlanKiB comes on top of these for the entries of plans. In Nomad's log such entries are seven
	// times as long as here: a placed allocation takes 1.5 KB.
	PerEntry   time.Duration
	PerKiB     time.Duration
	PerPlanKiB time.Duration
	// PlanGarbage is the KiB that PerPlanKiB allocates in each microsecond; zero means CollectionCosts.Garbage.
	PlanGarbage float64
	// Serial makes the leader commit entries between its writes to the log and never during one, since Raft's main
	// goroutine does both (raft.go, leaderLoop).
	Serial bool
	// Syncs is how often a write waits for the disk, one after the other: BoltDB does so for
	// its pages and again for the page that points to them. Zero means once. Resume is spent
	// after each. It is little, but on busy cores the thread queues for it.
	Syncs  int
	Resume time.Duration
	// PerFreeKiB is spent on each write, by leader and followers, for each KiB of the log's file that is free: entries
	// were deleted there after a snapshot, and no others have been stored since. BoltDB writes the list of its
	// free pages with each write (Nomad's raft_boltdb, no_freelist_sync).
	PerFreeKiB time.Duration
	// PerRow is spent by a server on each row of the state when it takes a snapshot.
	PerRow time.Duration
}

// Waits returns how often a write waits for the disk.
func (c RaftCosts) Waits() int { return max(c.Syncs, 1) }

// FSMCosts is CPU time every server spends on applying committed entries, one after
// the other.
type FSMCosts struct {
	Entry time.Duration // any entry
	Node  time.Duration // a node registered or changed
	Job   time.Duration // a job registered, with its versions and its summary, on top of its evaluation
	Eval  time.Duration // each evaluation written
	// MoreEvals is each evaluation beyond the tenth of an entry, since a transaction copies a node of a tree
	// once (go-immutable-radix, Txn). Zero means Eval.
	MoreEvals time.Duration
	Alloc     time.Duration // each allocation written
	Stop      time.Duration // each that a plan stops, on top of that
	// Place is each allocation that a plan places, in place of Alloc, and Report each that a client reports. Zero means Alloc.
	Place  time.Duration
	Report time.Duration
	// HalfCached is the number of rows of the state at which half of what Place and MoreEvals read misses the
	// processor's caches, as in SchedulerCosts.
	HalfCached int
	// Garbage is the KiB that Place and MoreEvals allocate in each microsecond; zero means CollectionCosts.Garbage.
	Garbage float64
	Plan    time.Duration // a plan, on top of its allocations
	// Deployment is a plan that begins a deployment or changes one, on top of that.
	Deployment time.Duration
	// Walk is spent on each evaluation of the state by an entry that deletes more than 1,250.
	Walk time.Duration
	// Gone is spent on each evaluation and allocation that an entry is to delete and that is not there.
	Gone time.Duration
}

// Evals returns the work of writing n evaluations by one entry to a state of so many rows.
func (c FSMCosts) Evals(n, rows int) Work {
	const few = 10
	more := max(n-few, 0)
	if c.MoreEvals == 0 {
		return Work{Few: time.Duration(n) * c.Eval}
	}
	return Work{Few: time.Duration(n-more) * c.Eval, Many: Uncached(time.Duration(more)*c.MoreEvals, rows, c.HalfCached)}
}

// Placing returns the work of writing n allocations that a plan places to a state of so many rows.
func (c FSMCosts) Placing(n, rows int) Work {
	if c.Place == 0 {
		return Work{Few: time.Duration(n) * c.Alloc}
	}
	return Work{Many: Uncached(time.Duration(n)*c.Place, rows, c.HalfCached)}
}

// Work is the CPU time of applying an entry.
type Work struct {
	Few  time.Duration
	Many time.Duration // of rows that one transaction writes with many others, by FSMCosts.Place and MoreEvals
}

// Total returns the CPU time of all of it.
func (w Work) Total() time.Duration { return w.Few + w.Many }

// Leaves returns the KiB that work allocates in each microsecond, on average.
func (c *Costs) Leaves(w Work) float64 {
	usual := c.Collection.Garbage
	if w.Many == 0 || c.FSM.Garbage == 0 {
		return usual
	}
	return (usual*float64(w.Few) + c.FSM.Garbage*float64(w.Many)) / float64(w.Total())
}

// SchedulerCosts is the CPU time one scheduling attempt takes a worker.
type SchedulerCosts struct {
	Base         time.Duration
	PerNode      time.Duration // each node in state
	PerReadyNode time.Duration // each ready node in the job's datacenters, on top
	PerLiveAlloc time.Duration // each live allocation of the job
	PerTermAlloc time.Duration // each terminal allocation of the job
	// HalfCached is the number of nodes at which half of the reads of nodes and
	// allocations miss the processor's caches: with n nodes the four figures above
	// count n/(n+HalfCached). Zero means that they always count in full.
	HalfCached   int
	PerScored    time.Duration // each node ranked for a placement
	PerProposed  time.Duration // each allocation on such a node (scheduler/rank.go, BinPackIterator)
	PerPlacement time.Duration // each allocation placed
	PerStop      time.Duration // each allocation stopped
	// Garbage is the KiB that an attempt allocates in each microsecond; zero means CollectionCosts.Garbage.
	Garbage float64
}

// PlanCosts is CPU time the leader spends on plans.
type PlanCosts struct {
	Submit   time.Duration // taking in a plan
	PerAlloc time.Duration // decoding and encoding each allocation, at worker and leader
	// PerForward is the same for plans of followers' workers alone: a plan of the leader's own is passed on as it is. With it,
	// a long plan needs round trips on its way (simnet.Stream).
	PerForward time.Duration
	// PerResult is the same for the answer, which has the allocations once more, with their jobs (nomad/structs, PlanResult).
	PerResult time.Duration
	Evaluate  time.Duration // verifying a plan
	PerPlace  time.Duration // verifying each placement
	// PerProposed is spent on each allocation that is on a node already when a placement on it is
	// verified (nomad/plan_apply.go, evaluateNodePlan).
	PerProposed time.Duration
	PerStop     time.Duration // verifying each stop
	// Granted is the applier's time for applying a plan to its own snapshot before the entry is committed, as a share of
	// the time for applying the entry. It is less than one since nobody watches that snapshot. Zero means one.
	Granted float64
	// PerSignature is spent by the applier on the identity of each new allocation, before the plan is written, if the
	// release signs by RSA; PerToken, if it signs by Ed25519. PerSignature is also spent by the leader on the identity of a
	// client that registers for the first time, where clients have identities (nomad/node_endpoint.go, Register, since v1.11.0).
	PerSignature time.Duration
	PerToken     time.Duration
	// PerWrite is spent by the applier on encoding each placement, before the plan is written.
	PerWrite time.Duration
}

// Granting returns the time for applying a plan to the applier's snapshot, if applying its entry takes d.
func (c PlanCosts) Granting(d time.Duration) time.Duration {
	if c.Granted == 0 {
		return d
	}
	return time.Duration(c.Granted * float64(d))
}

// DeploymentCosts is CPU time the leader spends on deployments beside everything else.
type DeploymentCosts struct {
	// PerAlloc is spent on each allocation of a job with an active deployment. The deployment's watcher reads all of
	// them when any deployment has changed, and when one of them has (nomad/deploymentwatcher, doneGroups and getAllocs).
	PerAlloc time.Duration
	// PerStub is spent on top on each allocation when one of them has changed, for what the watcher copies of it
	// (getAllocs). It is also spent on each deployment in the state when any of them has changed.
	PerStub time.Duration
	// PerEval is spent on each of the job's evaluations when one of its allocations has changed (jobEvalStatus).
	PerEval time.Duration
	// HalfCached is the number of allocations at which half of the reads miss the processor's caches, as in
	// SchedulerCosts.
	HalfCached int
}

// Uncached returns what it takes to read n rows, if it takes d when all of them miss the processor's caches, and half of
// them do when there are half. Zero says that all of them do.
func Uncached(d time.Duration, n, half int) time.Duration {
	if half <= 0 {
		return d
	}
	return time.Duration(float64(d) * float64(n) / float64(n+half))
}
