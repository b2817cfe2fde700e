# The speed that machine.hcl has, for the costs of 2.0.5, and what a signature takes. No run of 2.0.5 is part of it.
class  = "machine"
title  = "fitted to runs on real servers"
source = "machine.hcl: README.md"
base   = "loopback-2.0.5"

speed = 0.47
fsync = "0.78ms" # fdatasync of a few pages and of one, in turns: README.md, What the speed does not tell

rpc {
  node_count   = "0.56us"
  node_recount = "0.26us"
  source       = "profiles: README.md, What the speed does not tell"
}

plan {
  per_signature = "1.8ms"
  source        = "profiles of signAllocIdentities, 1.7 to 1.9 ms: README.md, What the speed does not tell"
}

deployment {
  per_alloc = "1us"
  per_stub  = "0.7us"
  per_eval  = "1.17us"
  source    = "calls counted and profiled: README.md, What watches deployments"
}
