# Two figures were measured here for the processors, one for the disk, and some in profiles of drains in which clients report: README.md.
class  = "machine"
title  = "three servers and their clients on one machine with two cores"
source = "README.md: The speed, signatures and the disk; What a client's call takes under 2.0.5"
base   = "../second/machine-2.0.5.hcl"

speed = 1.17
fsync = "0.2ms"

rpc {
  verify = "105us"
}

fsm {
  report = "154us"
}

plan {
  per_signature = "1.05ms"
}
