/*
Package cluster runs Nomad's control plane in one process: servers on hashicorp/raft, each
with its state store and scheduler workers and, while it leads, the evaluation broker, plan
queue and applier, heartbeat timers, reapers and watchers.

# Using a cluster

[Start] returns a [Cluster] once one of its servers leads and serves; Shutdown ends it and
joins every goroutine.

	c, err := cluster.Start(ctx, cluster.Config{Servers: 3, NumSchedulers: 2, Policy: broker.Shedding()})
	if err != nil {
		return err
	}
	defer c.Shutdown()

Clients reach server i through c.NodeServer(i), which speaks the RPCs of a Nomad client.
Users and operators call methods such as RegisterJob, DrainNode and PauseEvalBroker. Faults
are methods, too: StopServer, DisturbLinks, SlowDisk, CrashWorkers. Stats returns the
figures of one instant, EntriesBetween counts the log by type, State gives the store of one
server to read, and CheckLogs compares what the servers have agreed on. The zero [Config]
means Nomad's defaults and work that costs no time; [Costs] says what it costs on a class of
machines.

# The life of an evaluation

A client that falls silent shows the whole path. Its heartbeat timer fires on the leader
(leader.Heartbeats), which writes two entries: the node's new status, and an evaluation for
every job that the change concerns (server, node.go). Every server applies them. The entry's
function in package fsm changes the state and returns effects; on the leader these put the
evaluations into the broker (leader.Evaluations). A worker of any server dequeues one from
the leader, waits until its own state is new enough, and lets a scheduler plan on a
snapshot (server, worker.go). The plan goes to the leader's queue; the plan
applier verifies it against the newest state and writes what still fits (plan_apply.go).
The worker writes the evaluation as complete and acks it. With that ack the broker may shed
the job's other pending evaluations; the reaper writes them off in batches (reapers.go).

# Where things are

From the bottom up; an arrow between packages never points up.

	rpc               wire types, and the interface between clients and servers
	state             one server's store: snapshots, transactions, counts
	scheduler         a snapshot and an evaluation give a plan; plans are verified
	simnet            the network: delay, loss, partitions; Raft's transport
	internal/cpu      cores that work is charged to
	internal/config   settings, costs, the observer
	internal/fsm      the entries of the log: each with its codec, effect, cost and causes
	internal/raftnode agreement on the log: Raft, what it stores, how entries reach it
	internal/leader   what a server runs while it leads, seen through leader.Log
	internal/server   one process: endpoints, workers, plan applier, effects
	cluster           the servers together: life, users' calls, faults, figures
	apitypes          rows of the state in the types of Nomad's API, and users' jobs back
	httpapi           Nomad's HTTP API of a cluster
	clientrpc         Nomad's RPC protocol for clients of other processes
	telemetry         the cluster's figures by Nomad's names

An entry of the log is declared in one place, in package fsm. What writes it says what
caused it (fsm.Cause) before it writes: the account of the log in [Stats] does not depend on
the log.

# Time

The package reads time only through package time, so the same code runs on the wall clock
and, inside a testing/synctest bubble, on virtual time. Computing takes no virtual time by
itself: whoever works charges it to cores (server.compute), a link or a disk. Two rules keep
virtual time moving and repeatable. No mutex is held across a sleep, a channel wait or a
Raft apply. Every actor draws from a random source of its own, and no two actors act at one
instant where their order would show.

The package must not import clients (nodesim), scenarios or reports.
*/
package cluster
