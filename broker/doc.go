// Package broker decides which evaluation a scheduler works on next: it is Nomad's
// evaluation broker (nomad/eval_broker.go) as a pure state machine.
//
// An [EvalBroker] has no goroutines, no locks and no clock. Every operation that
// depends on time is handed `now`, and what is due later is fired by Advance; the
// caller learns from NextDeadline when that is. Package cluster wraps it as a blocking
// service, brokertest compares it with a naive oracle, and explore searches all
// interleavings of small systems. The same calls in the same order, with the same
// random source, always give the same answers.
//
// # Where an evaluation is
//
// Each evaluation the broker holds is in exactly one place:
//
//   - ready: may be dequeued; one heap per scheduler type, highest Priority first, then
//     lowest CreateIndex. Past the delivery limit it is the heap named [FailedQueue].
//   - unacked: dequeued and not yet acked; it carries a token and a nack timer.
//   - waiting: delayed by Wait, WaitUntil or an earlier nack.
//   - pending: its job has another evaluation that is ready, unacked or waiting for its
//     redelivery. One job has at most one of those, so its scheduling is serialised.
//   - cancelable: shed by the [Policy], until the reaper takes it to write `canceled`.
//
// # What differs between the old and the new broker
//
// Everything but the order of the pending evaluations, and what an Ack does with them,
// is common to Nomad 1.4.2 and 1.4.3. These two decisions are a Policy: [Legacy] or
// [Shedding]. Nomad's known defects are not reproduced unless asked for; see [Quirks].
//
// The package imports the standard library only. It must not import the cluster, the
// state store or Raft, and must not read the clock or the global random source.
package broker
