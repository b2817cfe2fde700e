# The costs of the machine beside the first, and those that were counted on this one: what a leader
# does for every node it knows at each heartbeat and at each change of a node, and what snapshots of
# the state cost, and every write to the log after one. They grow with the cluster. With 500 nodes,
# of which the first file's profiles are, the first two are a fiftieth of the servers' time, and
# there is no snapshot. The first file has no jobs but those of the system, so batch jobs were
# counted, too. Nothing is fitted to what a run came to.
class  = "machine"
title  = "three servers and their clients on one machine with two cores"
source = "those of the first machine, and CPU profiles of Nomad 1.4.3, 2,000 and 5,000 clients, 2026-11-23"
base   = "../real/machine.hcl"

rpc {
  node_count = "0.15us"
  node_watch = "1.0us"
  source     = "constructNodeServerInfoResponse and nodeDrainWatcher.getNodes of a leader of 2,000 nodes that fall silent, 0.30 and 2.05 ms for each of them"
}

raft {
  per_row      = "17us"
  per_free_kib = "0.019us"
  source       = "1.4.3, 5,000 clients: runSnapshots of a follower, 2.4 s for 135,000 rows; runFollower of those with 200 kB of free pages, beside 2,000 clients' without: 0.28 ms more for each write, and 0.67 of the collector by bytes, for 51 MB of entries"
}

scheduler "batch" {
  base       = "0.2ms"
  per_scored = "36us"
  source     = "1.4.3, simctl scenario dispatch: GenericScheduler.Process, 3,008 times in 20 s; per_scored: 3.63 s of these in GenericStack.Select, of some 100,000 nodes, by the simulation; base: the rest, less submitting plans"
}
