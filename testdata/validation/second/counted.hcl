# The machine of the runs beside this file, as counted in six of them: README.md, "Where the
# processor time goes", says how, what this leaves out, and why no other page uses it. No figure
# is from what a run came to. Figures that differ by release lie between the two. Those that are not
# here are the first machine's: the links, what writes to the log cost by their size, and placements.
class  = "counted"
title  = "three servers and their clients on one machine with two cores, by counted profiles"
source = "perf on both cores beside Nomad 1.4.3 and 2.0.5, 500 clients, 2026-11-23"
base   = "../real/machine.hcl"

fsync   = "0.32ms"
garbage = 0.49

rpc {
  serve           = "85us"
  send            = "90us"
  query           = "55us"
  client          = "105us"
  heartbeat       = "25us"
  node_eval       = "65us"
  wait_index_scan = "0.36us"
  source          = "serve, send: between the calls of workers in a storm, 130 and 140 us, and of clients in a drain, 62 and 27; query: half of a call, 62 us, and of two looks, 21 us each; client: 2.6 s of simctl for 25,500 calls; node_eval: a tenth of invalidateHeartbeat and of the drain watcher, for a node that goes down"
}

raft {
  dispatch = "0.53ms"
  append   = "0.46ms"
  source   = "leaderLoop 0.26 ms and replicate 0.17, runFollower 0.26 and handleConn 0.08; on top of either 0.06 of the kernel's threads for the disk, 0.06 of the collector and 0.03 of Go's scheduler, less resume"
}

fsm {
  entry      = "57us"
  eval       = "42us"
  node       = "45us"
  alloc      = "75us"
  plan       = "245us"
  deployment = "85us"
  source     = "runFSM: lines through storms of 10 and 20 jobs; alloc: between one that is placed, 55 us, and one that is stopped, 106, with what that leaves in plan"
}

scheduler "system" {
  base           = "0.08ms"
  per_node       = "0.65us"
  per_ready_node = "0.4us"
  per_live_alloc = "2.9us"
  per_term_alloc = "2.9us"
  source         = "SystemScheduler.Process: 1.8 ms (1.4.3) and 2.2 ms (2.0.5) at 500 nodes, a quarter of it in readyNodesInDCs"
}

plan {
  submit        = "0.1ms"
  per_alloc     = "30us"
  evaluate      = "120us"
  per_stop      = "12us"
  per_signature = "0.93ms"
  source        = "submit and per_alloc: Plan.Submit where it is forwarded, 0.23 ms for 2.4 stops, some 45 us for each placement; evaluate: evaluatePlan 0.04 ms, applyPlan beside the state 0.07"
}

deployment {
  per_alloc = "3.6us"
  source    = "deploymentwatcher: 1.46 ms for each plan of jobs with 500 allocations, and 0.34 of the collector"
}
