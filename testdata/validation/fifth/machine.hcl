# The machine of the runs beside this file: two cores, which three servers and their clients share. What operations cost was
# counted in CPU profiles of 1.4.2, 1.4.3 and 2.0.5 with 500 to 2,000 clients, or is the second machine's figure times how much
# longer its kind of work takes here: README.md has both. What work allocates in a microsecond is less by as much, since bytes
# are the same everywhere. No figure is from what a run came to. Those that are not here are the second machine's.
class  = "machine"
title  = "three servers and their clients on one machine with two cores"
source = "perf on both cores beside Nomad 1.4.2 and 1.4.3, 500 to 2,000 clients, 2026-11-27"
base   = "../second/machine.hcl"

exit_latency = "60us"
fsync        = "0.21ms"
idle         = "20ms"

collection {
  base    = "37ms"
  per_row = "19.8us"
  garbage = 0.22
}

monitoring {
  base     = "12.6ms"
  per_node = "9us"
  per_eval = "3.3us"
}

rpc {
  serve           = "110us"
  send            = "58us"
  answer          = "58us"
  wait_index_scan = "1.0us"
  reap            = "40us"
  node_count      = "0.26us"
  node_recount    = "0.057us"
  node_watch      = "1.65us"
}

raft {
  dispatch     = "0.445ms"
  append       = "0.51ms"
  receive      = "105us"
  per_row      = "22us"
  per_plan_kib = "100us"
  plan_garbage = 0.73
  per_free_kib = "0.025us"
}

fsm {
  entry      = "112us"
  eval       = "47us"
  more_evals = "51us"
  node       = "10us"
  alloc      = "72us"
  stop       = "78us"
  plan       = "108us"
  deployment = "115us"
}

scheduler "system" {
  base           = "0.15ms"
  per_node       = "1.35us"
  per_live_alloc = "5.1us"
  per_term_alloc = "5.1us"
  half_cached    = 110
  garbage        = 0.138
}

plan {
  submit        = "0.15ms"
  per_forward   = "23us"
  per_result    = "40us"
  evaluate      = "250us"
  per_stop      = "23us"
  per_signature = "1.5ms"
}
