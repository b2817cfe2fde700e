# Two figures were measured here for the processors, and one for the disk: README.md.
class  = "machine"
title  = "three servers and their clients on one machine with two cores"
source = "README.md, The speed, signatures and the disk"
base   = "../second/machine-2.0.5.hcl"

speed = 1.17
fsync = "0.2ms"

plan {
  per_signature = "1.05ms"
  source        = "README.md, Signatures"
}
