# Three servers of real Nomad on one machine with two cores: the runs of
# testdata/calibration/nomad-measured.json (Nomad 1.4.2 and 1.4.3 binaries, Raft on
# BoltDB, clients that speak Nomad's RPC but run nothing). CPU figures come
# from an idle machine where one was measured. The others are marked "fitted": with them,
# the *drain* of Nomad 1.4.2 takes as long as measured at 500 to 2,000 nodes (393, 287 and
# 157 evaluations a second), and its operations take their measured times. No figure was
# fitted to a count of Raft entries.
class  = "loopback"
title  = "three servers sharing one machine with two cores"
source = "Nomad 1.4.2 and 1.4.3 binaries measured at 500, 1,000 and 2,000 nodes"

cores   = 2
pooled  = true
fsync   = "0.15ms"
garbage = 0.9

fleet {
  report_allocations = false
  source             = "the measured clients register and heartbeat only"
}

server_link {
  latency = "30us"
  jitter  = "20us"
  source  = "loopback interface"
}

client_link {
  latency = "30us"
  jitter  = "20us"
  source  = "loopback interface"
}

rpc {
  serve           = "120us"
  send            = "100us"
  query           = "70us"
  client          = "85us"
  heartbeat       = "50us"
  node_eval       = "150us"
  wait_index_scan = "0.22us"
  source          = "serve, send: fitted to worker.send_ack, 0.6 to 1.7 ms under load; node_eval: an expired heartbeat takes 3.5 ms, of which two Raft entries 2 ms; wait_index_scan: EvalsByJob of 1.4.3, 0.2 us for each of 5,000 evaluations; query, client: 500 clients that report 5,000 allocations take 8.4 s of CPU time more, 3.0 of them their own, than those that do not (1.4.3, the drain of testdata/validation)"
}

raft {
  dispatch = "0.5ms"
  append   = "0.45ms"
  per_kib  = "4us"
  source   = "fitted, with garbage, to the length of the drains; raft.boltdb.storeLogs takes 0.51 ms on an idle machine, 1.1 ms under load; per_kib: the 700 kB entry of a plan"
}

fsm {
  entry  = "80us"
  eval   = "60us"
  node   = "60us"
  alloc  = "70us"
  plan   = "80us"
  walk   = "5us"
  gone   = "0.8us"
  source = "fsm.update_eval 0.125 ms for one evaluation, 44 ms for 714; a plan that stops one allocation 0.22 ms, five 0.5 ms (UpsertPlanResults of 1.4.3, benchmarked); walk: DeleteEval of 7,278 evaluations of 30,000 to 1,000,000 takes 0.25 to 5.1 s, of 728 always 16 to 22 ms (benchmarked); gone: of 7,281 that are deleted already 5 to 6 ms, whatever is left (benchmarked)"
}

scheduler "system" {
  base           = "0.35ms"
  per_node       = "0.5us"
  per_ready_node = "0.15us"
  per_live_alloc = "2.7us"
  per_term_alloc = "2.7us"
  half_cached    = 900
  per_placement  = "32us"
  per_stop       = "5us"
  source         = "SystemScheduler.Process of 1.4.3, benchmarked: 0.6 ms at 500 nodes, 2.0 at 1,000, 4.4 at 2,000, 16.4 at 5,000, the same when 90% of the nodes are down and their allocations lost; base: worker.invoke_scheduler_system less its calls takes 1.02 ms at 500 nodes, 2.03 at 1,000, up to 4.9 at 2,000; placing 1,000 allocations 32 ms; per_stop benchmarked"
}

scheduler "service" {
  base           = "30us"
  per_node       = "0.1us"
  per_live_alloc = "2us"
  per_term_alloc = "2us"
  per_scored     = "30us"
  per_placement  = "10us"
  per_stop       = "5us"
  source         = "GenericScheduler of 1.4.3, benchmarked: a no-op 31 us for 10 allocations, 2 ms for 1,000; a placement 214 us at 500 nodes, 366 us at 2,000, with log2(nodes) nodes scored"
}

scheduler "batch" {
  base           = "30us"
  per_node       = "0.1us"
  per_live_alloc = "2us"
  per_term_alloc = "2us"
  per_scored     = "30us"
  per_placement  = "10us"
  per_stop       = "5us"
  source         = "as service"
}

scheduler "sysbatch" {
  base           = "0.35ms"
  per_node       = "0.5us"
  per_ready_node = "0.15us"
  per_live_alloc = "2.7us"
  per_term_alloc = "2.7us"
  half_cached    = 900
  per_placement  = "32us"
  per_stop       = "5us"
  source         = "as system"
}

plan {
  submit    = "2.5ms"
  per_alloc = "12us"
  evaluate  = "50us"
  per_place = "50us"
  per_stop  = "6us"
  source    = "submit: fitted to plan.submit of storm plans under load, 10 to 14 ms (1.8 ms on an idle machine); the rest benchmarked on 1.4.3: encoding and decoding a placement 10 us, evaluatePlan 17 to 29 us and signing its identity 28.5 us, a stop 6 us"
}
