# The costs of the machine beside the first, and two that were counted on this one: what a leader
# does for every node it knows at each heartbeat and at each change of a node. They grow with the
# cluster, and with 500 nodes, of which the first file's profiles are, they are a fiftieth of the
# servers' time. Nothing is fitted to what a run came to.
class  = "machine"
title  = "three servers and their clients on one machine with two cores"
source = "those of the first machine, and a CPU profile of Nomad 1.4.3, 2,000 clients, 2026-11-23"
base   = "../real/machine.hcl"

rpc {
  node_count = "0.15us"
  node_watch = "1.0us"
  source     = "constructNodeServerInfoResponse and nodeDrainWatcher.getNodes of a leader of 2,000 nodes that fall silent, 0.30 and 2.05 ms for each of them"
}
