# The speed that machine.hcl has, for the costs of 2.0.5, and what a signature takes. No run of 2.0.5 is part of it.
class  = "machine"
title  = "fitted to runs on real servers"
source = "machine.hcl: README.md"
base   = "loopback-2.0.5"

speed = 0.47

plan {
  per_signature = "1.6ms"
  source        = "go test crypto/rsa -run xxx -bench SignPKCS1v15/2048, three times 1.5 to 1.7 ms"
}
