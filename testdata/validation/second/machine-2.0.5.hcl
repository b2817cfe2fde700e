# machine.hcl with what 2.0.5 takes more for the same work, by the profiles of 500 clients: README.md, "Where the
# processor time goes".
class  = "machine"
title  = "three servers and their clients on one machine with two cores"
source = "perf on both cores beside Nomad 2.0.5, 500 clients, 2026-11-23"
base   = "machine.hcl"

rpc {
  node_watch = "1.85us"
  source     = "nodes that go down, and the drain watcher: 0.13 ms an entry in place of 0.07"
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
  garbage        = 0.235
  source         = "garbage: 0.52 MB an attempt in place of 0.37; an attempt 2.2 ms in place of 1.8"
}

plan {
  evaluate = "140us"
  source   = "the applier beside the state 0.14 ms in place of 0.12"
}
