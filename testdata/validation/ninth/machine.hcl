class  = "machine"
title  = "fitted to runs on real servers"
source = "loopback, fitted by simctl calibrate to calibration/1.4.3-500-silent.json, calibration/1.4.3-1000-silent.json"
base   = "loopback"

speed = 0.798
