# The second machine, while simctl asked a leader every second how many evaluations are canceled, however long that took it.
class  = "machine"
title  = "three servers and their clients on one machine with two cores, asked every second"
source = "those of ../machine.hcl"
base   = "../machine.hcl"

monitoring {
  rests  = 0
  source = "simctl before 12:30 on 2026-11-23"
}
