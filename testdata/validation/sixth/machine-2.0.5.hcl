# The speed, the disk and signatures were measured here. What placements, calls, writes and evaluations take is by profiles of
# later hours, times 0.88 to 0.93, since the machine was slower then: README.md, later/README.md and evening/README.md.
class  = "machine"
title  = "three servers and their clients on one machine with two cores"
source = "README.md: The speed, signatures and the disk; later/README.md: What clients' calls take under 2.0.5; evening/README.md: What else the profiles say, What storms and calls take"
base   = "../second/machine-2.0.5.hcl"

speed = 1.17
fsync = "0.2ms"
idle  = "21.367521ms" # the second machine's over the speed, as it was when the runs were compared

rpc {
  serve           = "217us"
  send            = "83us"
  answer          = "98us"
  client_serve    = "85us"
  client_send     = "26us"
  client_answer   = "27us"
  query           = "81us"
  verify          = "84us"
  client          = "78us"
  heartbeat       = "10us"
  node_recount    = "0.042us"
  wait_index_scan = "0.21us"
  node_eval       = "6.5us"
}

monitoring {
  per_eval = "2.9us"
}

raft {
  dispatch = "248us"
  append   = "212us"
  receive  = "85us"
}

fsm {
  entry       = "40us"
  eval        = "47us"
  plan        = "227us"
  alloc       = "62us"
  stop        = "52us"
  report      = "136us"
  place       = "120us"
  more_evals  = "48us"
  half_cached = 2600
}

plan {
  per_signature = "1.05ms"
  per_place     = "10us"
  per_write     = "14us"
  granted       = 0.8
}
