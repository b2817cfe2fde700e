# The speed, the disk and signatures were measured here. What calls of clients and placements take is by profiles of
# later hours, times 0.88 and 0.93, since the machine was slower then: README.md, later/README.md and evening/README.md.
class  = "machine"
title  = "three servers and their clients on one machine with two cores"
source = "README.md: The speed, signatures and the disk; later/README.md: What clients' calls take under 2.0.5; evening/README.md: What else the profiles say"
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
