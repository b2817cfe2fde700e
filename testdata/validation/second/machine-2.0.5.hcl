# machine.hcl with what 2.0.5 takes more for the same work, by the profiles of 500 clients: README.md, "Where the
# processor time goes". What of that grows with the clients is by profiles of both releases on a fourth machine: "2.0.5
# beside 1.4.3".
class  = "machine"
title  = "three servers and their clients on one machine with two cores"
source = "perf on both cores beside Nomad 2.0.5, 500 clients, 2026-11-23"
base   = "machine.hcl"

collection {
  base     = "35ms"
  per_row  = "17.5us"
  base_kib = 14100
  row_kib  = 5.9
  source   = "README.md, 2.0.5 beside 1.4.3: a cycle allocates 1.18 and 1.22 times as much, and takes 1.15 and 1.09 times as long, with 500 and 2,000 clients"
}

rpc {
  serve      = "119us"
  send       = "63us"
  answer     = "63us"
  reap       = "100us"
  node_watch = "1.3us"
  source     = "calls between servers, 0.42 ms an entry in place of 0.30; node_watch: nodeDrainWatcher.getNodes takes 1.28 and 1.22 times as long as under 1.4.3, with 500 and 2,000 clients on the fourth machine; reap: 90 us there, with 2,000 clients"
}

raft {
  dispatch = "0.41ms"
  append   = "0.44ms"
  receive  = "95us"
  source   = "a write to the log: leader 0.49 ms in place of 0.42, follower 0.39 in place of 0.34"
}

fsm {
  plan   = "221us"
  source = "0.29 ms for an entry with a plan in place of 0.21"
}

scheduler "system" {
  base           = "0.1ms"
  per_node       = "1.7us"
  per_live_alloc = "4.4us"
  per_term_alloc = "4.4us"
  per_placement  = "16us"
  per_proposed   = "4.4us"
  garbage        = 0.235
  source         = "garbage: 0.52 MB an attempt in place of 0.37; an attempt 2.2 ms in place of 1.8"
}

plan {
  per_place    = "30us"
  per_proposed = "4.4us"
  per_result   = "46us"
  evaluate     = "140us"
  source       = "the applier beside the state 0.14 ms in place of 0.12; per_result: 28 us for each placement at the leader and 55 at the follower on the fourth machine, which takes 0.9 of the time"
}
