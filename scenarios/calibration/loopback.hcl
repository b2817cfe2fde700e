# Three servers of real Nomad 1.4.2 or 1.4.3 and their clients on one machine with two cores. What operations cost was counted in CPU
# profiles: it is what docs/validation has for its sixth machine (testdata/validation/sixth/machine.hcl), rounded. What waking threads
# and registering a job takes was measured on the eighth (testdata/validation/eighth/README.md). No figure is fitted to what a run came
# to. Your machine is slower or faster: simctl calibrate finds by how much, and writes a file that builds on this one.
class  = "loopback"
title  = "three servers and their clients on one machine with two cores"
source = "perf on both cores beside Nomad 1.4.3, 500 to 5,000 clients, on three machines, 2026-11-23 to 28; docs/validation says how"

cores        = 2
pooled       = true
processors   = 2
exit_latency = "75us"
thread_wake  = "120us"
fsync        = "0.2ms"
garbage      = 0.6
idle         = "22ms"

collection {
  base        = "25.6ms"
  per_row     = "13.7us"
  half_cached = 7000
  garbage     = 0.35
  base_kib    = 12000
  row_kib     = 4.9
}

monitoring {
  base     = "10.3ms"
  per_node = "6us"
  per_eval = "3.2us"
  rests    = 25
}

fleet {
  report_allocations = true
  source             = "Nomad's clients do; a scenario with a variable for it says whether its clients do"
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
  serve           = "129us"
  send            = "57us"
  answer          = "66us"
  client_serve    = "53us"
  client_send     = "20us"
  client_answer   = "20us"
  query           = "52us"
  client          = "71us"
  heartbeat       = "5.8us"
  node_eval       = "6.5us"
  reap            = "38us"
  node_count      = "0.13us"
  node_recount    = "0.028us"
  node_watch      = "0.85us"
  wake            = "50us"
  wait_index_scan = "0.21us"
}

raft {
  dispatch     = "210us"
  append       = "191us"
  receive      = "64us"
  serial       = true
  per_entry    = "8.5us"
  per_kib      = "3.4us"
  per_plan_kib = "107us"
  plan_garbage = 0.34
  per_free_kib = "0.016us"
  per_row      = "14.5us"
  syncs        = 2
  resume       = "17us"
  source       = "syncs: BoltDB writes pages and then its meta page"
}

fsm {
  entry       = "33us"
  node        = "51us"
  job         = "0.18ms"
  eval        = "56us"
  more_evals  = "56us"
  alloc       = "68us"
  stop        = "56us"
  place       = "83us"
  report      = "80us"
  half_cached = 4500
  garbage     = 0.176
  plan        = "159us"
  deployment  = "73us"
  walk        = "5us"
  gone        = "0.8us"
  source      = "job: 0.31 ms for an entry that registers a batch job, which is given an evaluation, in two profiles of dispatched jobs on the eighth machine; walk: DeleteEval of 7,278 evaluations of 30,000 to 1,000,000 takes 0.25 to 5.1 s, of 728 always 16 to 22 ms; gone: of 7,281 that are deleted already 5 to 6 ms, whatever is left (benchmarked on another machine)"
}

scheduler "system" {
  base           = "68us"
  per_node       = "1.2us"
  per_live_alloc = "3.1us"
  per_term_alloc = "3.1us"
  half_cached    = 185
  per_placement  = "12us"
  per_proposed   = "2.2us"
  per_stop       = "4.3us"
  garbage        = 0.23
}

scheduler "service" {
  base           = "30us"
  per_node       = "0.1us"
  per_live_alloc = "2us"
  per_term_alloc = "2us"
  per_scored     = "5us"
  per_proposed   = "1.7us"
  per_placement  = "10us"
  per_stop       = "5us"
  source         = "GenericScheduler of 1.4.3, benchmarked on another machine: a no-op 31 us for 10 allocations, 2 ms for 1,000; per_scored, per_proposed: testdata/validation/seventh/README.md, What is on a node"
}

scheduler "batch" {
  base           = "0.17ms"
  per_node       = "0.1us"
  per_live_alloc = "2us"
  per_term_alloc = "2us"
  per_scored     = "5us"
  per_proposed   = "1.7us"
  per_placement  = "10us"
  per_stop       = "5us"
  source         = "base: simctl scenario dispatch; the rest as service"
}

scheduler "sysbatch" {
  base           = "68us"
  per_node       = "1.2us"
  per_live_alloc = "3.1us"
  per_term_alloc = "3.1us"
  half_cached    = 185
  per_placement  = "12us"
  per_proposed   = "2.2us"
  per_stop       = "4.3us"
  garbage        = 0.23
  source         = "as system"
}

plan {
  submit        = "85us"
  per_forward   = "14.5us"
  per_result    = "26us"
  evaluate      = "103us"
  per_place     = "9us"
  per_proposed  = "2us"
  per_stop      = "10us"
  per_token     = "28us"
  per_write     = "11us"
  granted       = 0.7
  per_signature = "0.8ms"
}

deployment {
  per_alloc   = "0.29us"
  per_stub    = "0.2us"
  per_eval    = "0.33us"
  half_cached = 185
}
