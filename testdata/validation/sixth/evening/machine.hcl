# The machine's costs of the morning, which these hours took longer for, but not as much as the afternoon (speed): README.md. No figure is from
# what a run here came to.
class  = "machine"
title  = "three servers and their clients on one machine with two cores"
source = "README.md"
base   = "../machine.hcl"

speed = 0.93
idle  = "22.975829ms" # as in ../machine.hcl
