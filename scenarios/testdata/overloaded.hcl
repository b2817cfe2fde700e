# Servers so slow that registrations pile up by the hundred before they are applied: where
# a run hangs on the order of goroutines anywhere, it shows here.
class  = "overloaded"
title  = "servers that cannot keep up"
source = "made up for a test"

cores = 1
fsync = "1ms"

fleet {
  report_allocations = true
}

server_link {
  latency = "0.3ms"
  jitter  = "0.2ms"
}

client_link {
  latency = "0.3ms"
  jitter  = "0.2ms"
}

rpc {
  serve     = "0.2ms"
  send      = "0.1ms"
  node_eval = "0.2ms"
}

raft {
  dispatch = "0.5ms"
  append   = "0.4ms"
  per_kib  = "5us"
}

fsm {
  entry = "25ms"
  eval  = "0.1ms"
  alloc = "0.1ms"
}

scheduler "system" {
  base     = "1ms"
  per_node = "5us"
}
