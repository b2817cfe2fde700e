# The speed that machine.hcl has, for the costs of 2.0.5, and what was counted. No run of 2.0.5 beside this file is part of it.
class  = "machine"
title  = "fitted to runs on real servers, and counted"
source = "machine.hcl, and profiles: README.md"
base   = "loopback-2.0.5"

speed = 0.494
fsync = "0.78ms" # fdatasync of a few pages and of one, in turns: README.md, What the speed does not tell

rpc {
  node_count   = "0.56us"
  node_recount = "0.26us"
  node_watch   = "3.5us"
  source       = "profiles: README.md, What the speed does not tell"
}

fsm {
  entry      = "30us"
  node       = "235us"
  eval       = "104us"
  more_evals = "96us"
  alloc      = "161us"
  stop       = "135us"
  plan       = "0us"
  garbage    = 0.16
  source     = "profiles of four storms: README.md, Costs by profiles; more_evals, alloc: by what the speed says, as eval and stop"
}

plan {
  evaluate      = "0us"
  per_stop      = "44us"
  granted       = 0.745
  per_signature = "1.8ms"
  source        = "the same; profiles of signAllocIdentities, 1.7 to 1.9 ms: README.md, What the speed does not tell"
}

deployment {
  per_alloc = "1us"
  per_stub  = "0.7us"
  per_eval  = "1.17us"
  source    = "calls counted and profiled: README.md, What watches deployments"
}

scheduler "system" {
  base           = "231us"
  per_node       = "3.95us"
  per_live_alloc = "10.35us"
  per_term_alloc = "10.35us"
  garbage        = 0.094
  source         = "profiles: README.md, Costs by profiles"
}

collection {
  base    = "38.7ms"
  per_row = "19.3us"
  garbage = 0.24
  others  = 0.06
  source  = "README.md, What work leaves"
}

raft {
  plan_garbage = 0.95
  source       = "README.md, What work leaves"
}
