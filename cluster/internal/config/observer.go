package config

import (
	"time"

	"github.com/simctl/simctl/broker"
)

// Observer is told what the leader's broker does, in the order it does it and without
// any lock of the cluster held. Implementations must be safe for concurrent use and
// must not block. Evaluations of core jobs, which state knows nothing of, are not its
// business.
type Observer interface {
	// Dequeued: a worker took e, which had waited since it could first be dequeued.
	Dequeued(at time.Time, e *broker.Evaluation, waited time.Duration)
	// Acked: the worker is done with e, which it held that long; shed evaluations of
	// e's job became cancelable with it.
	Acked(at time.Time, e *broker.Evaluation, held time.Duration, shed int)
	// Nacked: e was given back, or its nack timer expired.
	Nacked(at time.Time, e *broker.Evaluation)
	// Flushed: the leader lost leadership, or the broker was paused: nothing is in
	// flight any more.
	Flushed(at time.Time)
}
