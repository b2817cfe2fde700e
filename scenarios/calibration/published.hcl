# Three t3.large servers with two vCPU each: the machines of the published benchmark
# (HashiCorp's post on load shedding, Nomad 1.4.2 against 1.4.3, and the comment of
# 2022-11-09 on nomad #14621). Only the time of the system scheduler is fitted: under
# 1.4.2, 5,000 nodes and 10 system jobs drained in about 40 minutes, at 20.8 evaluations a
# second, or 240 ms for a no-op on each of five workers. The fitted time includes garbage
# collection. All other figures come from the runs of testdata/calibration/nomad-measured.json: three servers of
# Nomad 1.4.2 and 1.4.3 on one machine with two cores.
class  = "published"
title  = "three servers with two vCPU each"
source = "the published runs: 5,000 clients, 10 system jobs, 40 minutes for 50,193 entries"

cores   = 2
fsync   = "0.5ms"
garbage = 0

fleet {
  report_allocations = true
  source             = "as Nomad's clients do"
}

server_link {
  latency = "0.25ms"
  jitter  = "0.1ms"
  source  = "between machines of one availability zone"
}

client_link {
  latency = "0.25ms"
  jitter  = "0.1ms"
  source  = "as server_link"
}

rpc {
  serve           = "120us"
  send            = "100us"
  query           = "70us"
  heartbeat       = "50us"
  node_eval       = "150us"
  wait_index_scan = "0.22us"
  source          = "serve, send: fitted to worker.send_ack, 0.6 to 1.7 ms under load; node_eval: an expired heartbeat takes 3.5 ms, of which two Raft entries 2 ms; wait_index_scan: EvalsByJob of 1.4.3, 0.2 us for each of 5,000 evaluations; query: 500 clients that report 5,000 allocations take 5.4 s of CPU time more of the servers than those that do not (1.4.3, the drain of testdata/validation)"
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
  base           = "1ms"
  per_node       = "8us"
  per_ready_node = "3us"
  per_live_alloc = "45us"
  per_term_alloc = "45us"
  half_cached    = 900
  per_placement  = "32us"
  per_stop       = "5us"
  source         = "fitted: 240 ms at 5,000 nodes with an allocation each; the shares are those of SystemScheduler.Process of 1.4.3, benchmarked: 0.5 us a node, 0.15 one that is ready, 2.7 an allocation"
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
  base           = "1ms"
  per_node       = "8us"
  per_ready_node = "3us"
  per_live_alloc = "45us"
  per_term_alloc = "45us"
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
