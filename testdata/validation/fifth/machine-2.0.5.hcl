# machine.hcl with what 2.0.5 takes more for the same work: README.md has the profiles of 500 and 2,000 clients. Of
# calls and of the log it is what 2.0.5 takes more on the second machine.
class  = "machine"
title  = "three servers and their clients on one machine with two cores"
source = "perf on both cores beside Nomad 2.0.5, 500 and 2,000 clients, 2026-11-27"
base   = "machine.hcl"

collection {
  base     = "43ms"
  per_row  = "21.7us"
  base_kib = 14100
  row_kib  = 5.9
}

rpc {
  serve      = "155us"
  send       = "82us"
  answer     = "82us"
  node_watch = "1.95us"
  reap       = "90us"
}

raft {
  dispatch = "0.54ms"
  append   = "0.58ms"
  receive  = "125us"
}

fsm {
  plan = "277us"
}

scheduler "system" {
  base           = "0.14ms"
  per_node       = "1.9us"
  per_live_alloc = "4.8us"
  per_term_alloc = "4.8us"
  per_placement  = "16us"
  per_proposed   = "4.4us"
  half_cached    = 40
  garbage        = 0.166
}

plan {
  per_place    = "30us"
  per_proposed = "4.4us"
  per_result   = "62us"
  evaluate     = "290us"
}

deployment {
  per_alloc   = "0.53us"
  per_stub    = "0.38us"
  per_eval    = "0.67us"
  half_cached = 134
}
