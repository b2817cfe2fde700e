# The speed that machine.hcl has, for the costs of 2.0.5. No run of 2.0.5 is part of it.
class  = "machine"
title  = "fitted to runs on real servers"
source = "machine.hcl: README.md"
base   = "loopback-2.0.5"

speed = 0.465
