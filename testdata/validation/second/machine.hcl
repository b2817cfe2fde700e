# The machine of the runs beside this file: two cores, which three servers and their clients share. What
# operations cost was counted in CPU profiles of Nomad 1.4.3 with 500, 2,000 and 5,000 clients and of 20 system jobs, as one line through
# all: README.md says how. No figure is from what a run came to. Those that are not here are the first machine's: the
# links, what writes to the log cost by their size, and placements. machine-2.0.5.hcl has what 2.0.5 takes more.
#
# Measured on a third machine, a virtual one as well: exit_latency, by two processes on two cores that write to one another; and that
# followers' workers must wake up, which with any wake of more than a call takes leaves most of a chain to the leader's worker.
class  = "machine"
title  = "three servers and their clients on one machine with two cores"
source = "perf on both cores beside Nomad 1.4.3, 500 to 5,000 clients, 2026-11-23"
base   = "./first.hcl"

processors   = 2
exit_latency = "75us"
fsync        = "0.34ms"
idle         = "25ms"

collection {
  base        = "30ms"
  per_row     = "16us"
  half_cached = 7000
  garbage     = 0.3
  base_kib    = 12000
  row_kib     = 4.9
  source      = "README.md, Garbage by bytes: kB by operation of storms of 500 clients on a fourth machine, for the costs in this file; per_row, half_cached: what a MB costs by the profiles of this one, with 500 to 5,000 clients and 20 jobs; row_kib: bursts of plans begin every 3.6 and 9.7 s; base: a MB with 100 clients takes 0.8 of what it takes with 500"
}

monitoring {
  base     = "12ms"
  per_node = "7us"
  per_eval = "2.5us"
  rests    = 25
  source   = "processor time of simctl in storms, 0.4 to 9.7 s; counting evaluations for it, 0.05 and 0.40 ms an entry with 500 and 2,000 clients, when it asked every second"
}

rpc {
  serve           = "85us"
  send            = "45us"
  answer          = "45us"
  wake            = "50us"
  wait_index_scan = "0.73us"
  reap            = "45us"
  node_count      = "0.15us"
  node_recount    = "0.033us"
  node_watch      = "1.0us"
  source          = "between the calls of workers in a storm, 130 and 140 us, and of clients in a drain, 62 and 27; wait_index_scan: Eval.Dequeue, 0.14, 0.33 and 0.63 ms an entry, and 0.58 of that for its list, which the collector collects; node_count, node_watch: constructNodeServerInfoResponse and nodeDrainWatcher.getNodes of a leader of 2,000 nodes that fall silent, 0.30 and 2.05 ms for each of them; node_recount: 14 us for 500 nodes, 0.14 s of some 10,000 heartbeats while clients report, on the sixth machine, which takes a 1.17th of the time; reap: cancelCancelableEvals but for the log, 43 and 36 us with 500 and 2,000 clients on the fourth machine, which takes 0.9 of the time"
}

raft {
  dispatch     = "0.34ms"
  append       = "0.39ms"
  receive      = "80us"
  serial       = true
  per_row      = "17us"
  per_plan_kib = "77us"
  plan_garbage = 0.95
  per_free_kib = "0.019us"
  source       = "leaderLoop 0.26 ms and replicate 0.17, runFollower 0.26 and handleConn 0.08; on top of either 0.06 of the kernel's threads for the disk and 0.1 of the collector, less 0.01 of per_plan_kib; receive: half of replicate, and handleConn; per_row: runSnapshots of a follower of 5,000 clients, 2.4 s for 135,000 rows; per_free_kib: runFollower of those with 200 kB of free pages, beside 2,000 clients' without: 0.28 ms more for each write, and 0.67 of the collector by bytes, for 51 MB of entries; per_plan_kib: placing 20,000 allocations takes the three servers 1.9 s of these functions on a third machine, where a write takes them 1.85 times as long, a third of it each; plan_garbage: 47 kB of the log for each, all three"
}

fsm {
  entry      = "24us"
  eval       = "53us"
  more_evals = "39us"
  alloc      = "60us"
  stop       = "50us"
  plan       = "141us"
  deployment = "85us"
  source     = "runFSM: 0.29, 0.49 and 0.78 ms an entry for evaluations, and for plans, with the applier's own, 0.55, 0.85 and 1.20; alloc: 55 us for each that is placed, 106 for each that is stopped; more_evals: drains of 500 and 2,000 clients on the fourth machine, 35 us, which takes 0.9 of the time"
}

scheduler "system" {
  base           = "0.08ms"
  per_node       = "1.4us"
  per_ready_node = "0us"
  per_live_alloc = "3.6us"
  per_term_alloc = "3.6us"
  half_cached    = 185
  garbage        = 0.195
  source         = "garbage: README.md, Garbage by bytes; SystemScheduler.Process: 1.9 ms with 500 nodes, 8.7 with 2,000, 24.7 with 5,000, and the same with no node ready as with all"
}

scheduler "batch" {
  base         = "0.2ms"
  per_scored   = "5us"
  per_proposed = "2us"
  source       = "1.4.3, simctl scenario dispatch: GenericScheduler.Process, 3,008 times in 20 s; base: less submitting plans and the 3.63 s in GenericStack.Select, of some 100,000 nodes, by the simulation, 36 us each; per_scored, per_proposed: those nodes have 16 allocations each; ../seventh/README.md, What is on a node"
}

plan {
  submit        = "0.1ms"
  per_alloc     = "0us"
  per_forward   = "17us"
  per_result    = "30us"
  evaluate      = "120us"
  per_stop      = "12us"
  per_signature = "0.93ms"
  granted       = 0.6
  source        = "submit, per_forward and per_result: Plan.Submit where it is forwarded, 0.23 ms for 2.4 stops; per_forward and per_result: drains of 2,000 clients on the fourth machine, 10 to 16 us and 25 to 29 on either side; granted: 0.33 ms, and under 2.0.5 0.39, of 0.55 and 0.71 that a state machine takes for the same plan; evaluate: evaluatePlan 0.04 ms, applyPlan beside the state 0.07"
}

deployment {
  per_alloc   = "0.34us"
  per_stub    = "0.24us"
  per_eval    = "0.39us"
  half_cached = 185
  source      = "2.0.5: deploymentwatcher, 1.46 ms for each plan of jobs with 500 allocations, and 0.34 of the collector; it reads the rows that schedulers read, so that as many of its reads miss the caches. How that divides: testdata/validation/seventh/README.md, What watches deployments"
}
