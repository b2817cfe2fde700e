# The speed that machine.hcl has, for the costs of 2.0.5, and what a signature by RSA takes. No run of 2.0.5 is part of it.
class  = "machine"
title  = "fitted to runs on real servers"
source = "machine.hcl, and go test crypto/rsa -run xxx -bench SignPKCS1v15/2048"
base   = "loopback-2.0.5"

speed = 0.798

plan {
  per_signature = "1.41ms"
  source        = "the same"
}
