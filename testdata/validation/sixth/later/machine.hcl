# The machine's costs of some hours before, which the hours of these runs took longer for (speed): README.md. No figure is from what a run
# here came to.
class  = "machine"
title  = "three servers and their clients on one machine with two cores"
source = "README.md"
base   = "../machine.hcl"

speed = 0.88
idle  = "24.281274ms" # as in ../machine.hcl
