# The machine of the runs beside this file. Processor time: 6.4 ms of the servers for each evaluation of a drain of 1.4.2 with 500 silent clients, as
# the system counted in a run that is not here. Simulated servers take as long with this speed (seeds 1 and 2). README.md says what was measured of
# the disk and of signatures.
class  = "machine"
title  = "three servers and their clients on one machine with two cores"
source = "processor time of a drain of 1.4.2, 500 clients, 2026-11-22"
base   = "loopback"

speed = 0.97
fsync = "0.27ms"
