# machine.hcl beside this file, for 2.0.5.
class  = "machine"
title  = "three servers and their clients on one machine with two cores, asked every second"
source = "those of ../machine-2.0.5.hcl"
base   = "../machine-2.0.5.hcl"

monitoring {
  rests  = 0
  source = "simctl before 12:30 on 2026-11-23"
}
