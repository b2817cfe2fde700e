# As in machine.hcl. Signing is as fast as before: README.md.
class  = "machine"
title  = "three servers and their clients on one machine with two cores"
source = "README.md"
base   = "../machine-2.0.5.hcl"

speed = 0.93
idle  = "22.975829ms" # as in ../machine-2.0.5.hcl

plan {
  per_signature = "1.05ms"
}
