// Package broker decides which evaluation a scheduler works on next. It is Nomad's
// evaluation broker (nomad/eval_broker.go) as a pure state machine.
//
// An [EvalBroker] has no goroutines, no locks and no clock. Each operation that depends on
// time takes the current time as an argument. The same calls in the same order, with the
// same random source, always give the same answers, so a test can repeat any history and
// package explore can search all histories of a small system. Package cluster makes it a
// blocking service.
//
// # Usage
//
// A broker starts disabled. The server that gains leadership enables it, and hands it every
// pending evaluation of its state:
//
//	b := broker.New(broker.Config{Policy: broker.Shedding(), Rand: rand.New(rand.NewPCG(seed, 0))})
//	b.SetEnabled(now, true)
//	for _, e := range pending {
//		b.Enqueue(now, e)
//	}
//
// A worker takes an evaluation, schedules, and acks under the token it was given. If it
// fails, or is too slow, the evaluation is delivered again, to whichever worker asks:
//
//	e, token, err := b.Dequeue(now, []string{"service", "batch"})
//	if err != nil || e == nil {
//		return err // no error and no evaluation: nothing is ready
//	}
//	if err := schedule(e); err != nil {
//		return b.Nack(now, e.ID, token)
//	}
//	_, err = b.Ack(now, e.ID, token)
//
// The caller fires the timers: nack timers, waits and redelivery delays. It calls Advance
// when the time of NextDeadline has come. An Advance that comes late has the effect of one
// that came in time:
//
//	if at, ok := b.NextDeadline(); ok {
//		sleepUntil(at)
//		b.Advance(at)
//	}
//
// Two reapers clean up behind the workers. One takes what a policy has shed and writes it
// to state as canceled; the other dequeues from [FailedQueue] what was delivered too often:
//
//	for batch := b.Cancelable(728); len(batch) > 0; batch = b.Cancelable(728) {
//		cancel(batch)
//	}
//
// A server that loses leadership disables its broker, which forgets everything. All tokens
// become invalid; the workers that hold them get [ErrDisabled] or [ErrNotOutstanding] and
// drop their results.
//
// # Where an evaluation is
//
// Each evaluation that the broker holds is in exactly one place:
//
//   - ready: may be dequeued. There is one heap for each scheduler type, with the highest
//     Priority first and then the lowest CreateIndex. Past the delivery limit it is the
//     heap of [FailedQueue].
//   - unacked: dequeued and not yet acked. It has a token and a nack timer.
//   - waiting: delayed by Wait, WaitUntil or an earlier nack.
//   - pending: its job has another evaluation in flight, which is ready, unacked or waiting
//     for redelivery. A job has at most one of these, so its scheduling is serialised.
//   - cancelable: shed by the [Policy], until the reaper takes it.
//
// # Policies
//
// Two decisions tell the broker of Nomad 1.4.2 from that of 1.4.3: which of a job's pending
// evaluations is the best, and which of them an Ack sheds. They are a [Policy], [Legacy] or
// [Shedding]; all else is common code. [PolicyByName] combines a policy with changes to
// single rules and with Nomad's known defects, which are off unless asked for (see
// [Quirks]). To add a policy, add one file: policy_shedding.go is an example.
//
// # Imports
//
// The package imports the standard library, internal/heap and internal/uuid. It must not
// import the cluster, the state store or Raft, and must not read the clock or the global
// random source.
package broker
