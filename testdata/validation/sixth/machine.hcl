# One figure was measured here for the processors, and one for the disk: README.md.
class  = "machine"
title  = "three servers and their clients on one machine with two cores"
source = "README.md, The speed, signatures and the disk"
base   = "../second/machine.hcl"

speed = 1.17
fsync = "0.2ms"
