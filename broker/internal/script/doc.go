// Package script drives a broker by lines of text. Its language is that of the transcripts
// in broker/testdata and of the counterexamples that broker/explore prints.
//
// A line is a command followed by key=value arguments. Durations are Go's (90s, 1m30s).
// Time starts at zero, and only advance and elapse move it. Tokens are named t1, t2, ... in
// the order of delivery. A command that needs a token and names none uses the evaluation's
// latest.
//
//	config [nack-timeout=] [initial-delay=] [subsequent-delay=] [delivery-limit=] [seed=]
//	    start over with a broker so configured, and enable it
//	enable, disable
//	enqueue id= [job=] [namespace=] [type=] [priority=] [create=] [modify=] [wait=] [wait-until=] [token=]
//	    job j, namespace default, type service, priority 50; create counts up from 1,
//	    modify is create; wait-until counts from time zero
//	enqueue-all
//	    one evaluation on each line of input, written as for enqueue
//	enqueue-many prefix= n= ...
//	    n evaluations named prefix1, prefix2, ...; other arguments as for enqueue
//	dequeue [types=service,batch,...]    default: all types seen and none of _failed
//	drain [types=] [quiet]               dequeue and ack until nothing is ready
//	ack, nack, reset, pause, resume id= [token=]
//	outstanding, drop-waiting id=
//	cancelable batch=
//	advance by=                          move time and fire what is due
//	elapse by=                           move time and fire nothing yet
//	next-deadline, stats, state
//
// The package imports the standard library and package broker. It must not import testing,
// for package explore runs scripts outside tests.
package script
