# Two figures were measured here for the processors, one for the disk, and two in profiles of drains in
# which clients report, times 0.88, since the machine was slower in those hours: README.md and later/README.md.
class  = "machine"
title  = "three servers and their clients on one machine with two cores"
source = "README.md: The speed, signatures and the disk; later/README.md: What clients' calls take under 2.0.5"
base   = "../second/machine-2.0.5.hcl"

speed = 1.17
fsync = "0.2ms"

rpc {
  verify    = "92us"
  node_eval = "6.5us"
}

fsm {
  report      = "136us"
  place       = "120us"
  more_evals  = "48us"
  half_cached = 2600
}

plan {
  per_signature = "1.05ms"
  per_place     = "27us"
  per_write     = "14us"
  granted       = 0.8
}
