# As in machine.hcl. What verifying an identity and writing a report take was measured in these hours, and signing is as fast as before: README.md.
class  = "machine"
title  = "three servers and their clients on one machine with two cores"
source = "README.md"
base   = "../machine-2.0.5.hcl"

speed = 0.88
idle  = "24.281274ms" # as in ../machine-2.0.5.hcl

rpc {
  verify = "105us"
}

fsm {
  report = "154us"
}

plan {
  per_signature = "1.05ms"
}
