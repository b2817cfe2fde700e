# Three servers of real Nomad on the first machine, whose runs are beside ../real/machine.hcl: two
# cores, which the servers share with the clients. machine.hcl builds on this file. Its costs say
# nothing of threads.
#
# CPU time: profiles of the three servers of a drain and a storm of Nomad 1.4.2 with 500
# clients that do not report, by what is done and how often it was. A profile sees 4.8 ms of
# each evaluation of the drain; the system counted 6.4. The rest is spread alike. What only
# 2.0.5 does comes from profiles of its own. The costs of calls are what CPU time of the
# drains of two runs of 1.4.3 with 500 clients leaves for them. Which function counts as what was
# settled while looking at simulated drains.
class  = "machine"
title  = "three servers and their clients on one machine with two cores"
source = "CPU profiles of Nomad 1.4.2 and 2.0.5, 500 clients, 2026-11-22"

cores   = 2
pooled  = true
fsync   = "0.27ms"
garbage = 0.6

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
  serve           = "65us"
  send            = "40us"
  query           = "25us"
  client          = "95us"
  heartbeat       = "30us"
  node_eval       = "45us"
  wait_index_scan = "0.54us"
  source          = "1.4.3: 500 clients that report take 5.6 s of CPU time of the servers more in a drain than those that do not, less its entries, for 33,000 calls answered or forwarded, 60 us each; client: 2.2 s of their own for 23,400 calls; wait_index_scan: EvalsByJob, 0.27 ms of 501 evaluations; node_eval: invalidateHeartbeat"
}

raft {
  dispatch  = "0.5ms"
  append    = "0.42ms"
  per_entry = "10us"
  per_kib   = "4us"
  syncs     = 2
  resume    = "20us"
  source    = "leaderLoop and replicate, runFollower and handleConn, with the system's share; syncs: BoltDB writes pages and then its meta page, 0.41 and 0.14 ms on this disk when nothing else runs"
}

fsm {
  entry      = "140us"
  eval       = "60us"
  node       = "60us"
  alloc      = "90us"
  plan       = "520us"
  deployment = "750us"
  walk       = "5us"
  gone       = "0.8us"
  source     = "runFSM: 0.2 ms for an evaluation's update, 0.75 to 0.9 ms for a plan that stops one allocation, 75 to 105 ms on busy cores for one that places 500, 1.55 ms for one of 2.0.5 that changes a deployment, too; walk, gone: benchmarked, as in published.hcl"
}

scheduler "system" {
  base           = "0.1ms"
  per_node       = "0.8us"
  per_ready_node = "0.3us"
  per_live_alloc = "3.6us"
  per_term_alloc = "3.6us"
  per_placement  = "14us"
  per_proposed   = "2.6us"
  per_stop       = "5us"
  source         = "SystemScheduler.Process in the drain: 2.4 ms at 500 nodes, a fifth of it on nodes; stops benchmarked; per_placement, per_proposed: ../seventh/README.md, What is on a node"
}

plan {
  submit        = "0.2ms"
  per_alloc     = "12us"
  evaluate      = "100us"
  per_place     = "40us"
  per_proposed  = "2.3us"
  per_stop      = "6us"
  per_signature = "1.05ms"
  source        = "Plan.Submit and evaluatePlan; per_signature: rsa.SignPKCS1v15 with 2,048 bits takes 1.0 ms on this machine, and the token around it 5% more"
}

deployment {
  per_alloc = "0.51us"
  per_stub  = "0.37us"
  per_eval  = "0.82us"
  source    = "2.0.5: deploymentWatcher.watch and getAllocs, 2.9 ms of profile for each of some 460 plans of jobs with 500 allocations. How that divides: testdata/validation/seventh/README.md, What watches deployments"
}
