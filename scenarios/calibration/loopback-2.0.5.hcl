# loopback with what Nomad 2.0.5 takes more for the same work, and what only it does, from profiles of it on the same machines
# (testdata/validation/sixth/machine-2.0.5.hcl, rounded).
class  = "loopback-2.0.5"
title  = "three servers of 2.0.5 and their clients on one machine with two cores"
source = "perf on both cores beside Nomad 2.0.5, 500 to 2,000 clients, on three machines, 2026-11-23 to 28; docs/validation says how"
base   = "loopback"

collection {
  base     = "30ms"
  per_row  = "15us"
  base_kib = 14100
  row_kib  = 5.9
}

monitoring {
  per_eval = "2.9us"
}

rpc {
  serve         = "217us"
  send          = "83us"
  answer        = "98us"
  client_serve  = "85us"
  client_send   = "26us"
  client_answer = "27us"
  query         = "81us"
  verify        = "84us"
  client        = "78us"
  heartbeat     = "10us"
  reap          = "85us"
  node_recount  = "0.042us"
  node_watch    = "1.1us"
}

raft {
  dispatch     = "248us"
  append       = "212us"
  receive      = "85us"
  per_plan_kib = "66us"
  plan_garbage = 1.1
}

fsm {
  entry       = "40us"
  eval        = "47us"
  more_evals  = "48us"
  alloc       = "62us"
  stop        = "52us"
  place       = "120us"
  report      = "136us"
  half_cached = 2600
  plan        = "227us"
}

scheduler "system" {
  base           = "85us"
  per_node       = "1.45us"
  per_live_alloc = "3.8us"
  per_term_alloc = "3.8us"
  per_placement  = "14us"
  per_proposed   = "3.8us"
  garbage        = 0.275
}

scheduler "service" {
  per_scored   = "7.7us"
  per_proposed = "3us"
}

scheduler "batch" {
  per_scored   = "7.7us"
  per_proposed = "3us"
}

plan {
  per_result    = "39us"
  evaluate      = "120us"
  per_place     = "8us"
  per_proposed  = "3.8us"
  per_write     = "14us"
  granted       = 0.8
  per_signature = "1.05ms"
  source        = "per_signature: 2.0.5 signs an identity for each placement by RSA with 2,048 bits"
}
