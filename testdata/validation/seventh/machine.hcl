class  = "machine"
title  = "fitted to runs on real servers, and counted"
source = "loopback, fitted by simctl calibrate to calibration/1.4.3-500-silent.json, calibration/1.4.3-1000-silent.json, and profiles: README.md"
base   = "loopback"

speed = 0.494
fsync = "0.78ms" # fdatasync of a few pages and of one, in turns: README.md, What the speed does not tell

rpc {
  node_count   = "0.56us"
  node_recount = "0.26us"
  node_watch   = "2.7us"
  source       = "profiles: README.md, What the speed does not tell"
}

fsm {
  entry      = "30us"
  node       = "180us"
  eval       = "104us"
  more_evals = "108us"
  alloc      = "126us"
  stop       = "104us"
  plan       = "366us"
  garbage    = 0.16
  source     = "profiles of four storms: README.md, Costs by profiles; more_evals, alloc: by what the speed says, as eval and stop"
}

plan {
  evaluate = "41us"
  per_stop = "32us"
  granted  = 0.855
  source   = "the same"
}

scheduler "system" {
  base           = "191us"
  per_node       = "3.36us"
  per_live_alloc = "8.7us"
  per_term_alloc = "8.7us"
  garbage        = 0.079
  source         = "the same; garbage: 465 KiB an attempt with 500 clients"
}

collection {
  base    = "27.5ms"
  per_row = "14.7us"
  garbage = 0.26
  others  = 0.06
  source  = "README.md, What work leaves"
}

raft {
  plan_garbage = 0.3
  source       = "README.md, What work leaves"
}
