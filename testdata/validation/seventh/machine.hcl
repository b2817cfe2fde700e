class  = "machine"
title  = "fitted to runs on real servers"
source = "loopback, fitted by simctl calibrate to calibration/1.4.3-500-silent.json, calibration/1.4.3-1000-silent.json"
base   = "loopback"

speed = 0.47
fsync = "0.78ms" # fdatasync of a few pages and of one, in turns: README.md, What the speed does not tell

rpc {
  node_count   = "0.56us"
  node_recount = "0.26us"
  source       = "profiles: README.md, What the speed does not tell"
}
