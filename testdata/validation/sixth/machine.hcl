# What the second machine's costs take here (speed), and what placing takes, by profiles of this machine: README.md. No figure is from what a
# run came to.
class  = "machine"
title  = "three servers and their clients on one machine with two cores"
source = "README.md: The speed, signatures and the disk; What placing takes; node_eval: evening/README.md"
base   = "../second/machine.hcl"

speed = 1.17
fsync = "0.2ms"

rpc {
  node_eval = "6.5us"
}

raft {
  per_plan_kib = "107us"
  plan_garbage = 0.34
}

fsm {
  place       = "82us"
  report      = "94us"
  more_evals  = "58us"
  half_cached = 2600
  garbage     = 0.176
}

plan {
  per_place = "22us"
  per_token = "32us"
  per_write = "14us"
  granted   = 0.7
}
