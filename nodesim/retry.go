package nodesim

import (
	"math/rand/v2"
	"time"
)

// retry is a wait of at least base and less than twice that (Client.retryIntv).
func retry(src *rand.PCG, base time.Duration) time.Duration {
	return base + stagger(src, base)
}

// rpcRetryFraction is structs.JitterFraction.
const rpcRetryFraction = 16

// heartbeatRetry is the wait after a failed heartbeat of a client that has heartbeated
// before (Client.getHeartbeatRetryIntv), given the time left of its TTL, negative when
// the TTL is over. In units of a second: never sooner than 1, never later than 30; close
// to or just past the end of the TTL 1 to 2; long past it, as if that much were left.
//
// Nomad means to treat "no leader" as a registration here, but compares an error it has
// wrapped before, so the rule below applies to that error, too.
func heartbeatRetry(src *rand.PCG, left, unit time.Duration) time.Duration {
	switch {
	case left < -30*unit:
		left = -left
	case left < 0:
		return unit + stagger(src, unit)
	}
	switch wait := stagger(src, left); {
	case wait < unit:
		return unit + stagger(src, unit)
	case wait > 30*unit:
		return 25*unit + stagger(src, 5*unit)
	default:
		return wait
	}
}
