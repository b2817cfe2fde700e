# machine.hcl, with garbage that is collected in bursts, as Go does, in place of beside the work that makes it. README.md
# says what comes of that.
class  = "machine"
title  = "three servers and their clients on one machine with two cores"
source = "those of machine.hcl, and the heaps of Nomad 1.4.3, 500 and 2,000 clients, 2026-11-24"
base   = "machine.hcl"

collection {
  base    = "17ms"
  per_row = "7.3us"
  source  = "130 ms of gcBgMarkWorker for a collection in a storm of 500 clients; half of go_memstats_next_gc_bytes, measured on a third machine: 121 MB a server with 15,500 rows, 436 MB with 62,000"
}
