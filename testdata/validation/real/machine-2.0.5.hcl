# The speed and the disk that machine.hcl has, for the costs of 2.0.5, and what a signature by RSA takes: 1.0 ms, and the token around it 5 % more.
class  = "machine"
title  = "three servers and their clients on one machine with two cores"
source = "machine.hcl, and rsa.SignPKCS1v15 with 2,048 bits"
base   = "loopback-2.0.5"

speed = 0.97
fsync = "0.27ms"

plan {
  per_signature = "1.05ms"
}
