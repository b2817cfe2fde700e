# What the second machine's costs take here (speed), and what placing, calls, writes and evaluations take, by profiles of this machine: README.md. No figure is from what a
# run came to.
class  = "machine"
title  = "three servers and their clients on one machine with two cores"
source = "README.md: The speed, signatures and the disk; What placing takes; node_eval, and calls, writes and evaluations: evening/README.md"
base   = "../second/machine.hcl"

speed = 1.17
fsync = "0.2ms"
idle  = "21.367521ms" # the second machine's over the speed, as it was when the runs were compared

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
  wait_index_scan = "0.21us"
  node_eval       = "6.5us"
}

monitoring {
  per_eval = "3.2us"
}

raft {
  dispatch     = "210us"
  append       = "191us"
  receive      = "64us"
  per_plan_kib = "107us"
  plan_garbage = 0.34
}

fsm {
  entry       = "33us"
  eval        = "56us"
  plan        = "159us"
  alloc       = "68us"
  stop        = "56us"
  place       = "83us"
  report      = "80us"
  more_evals  = "56us"
  half_cached = 4500
  garbage     = 0.176
}

plan {
  per_place = "11us"
  per_token = "28us"
  per_write = "11us"
  granted   = 0.7
}
