package nodesim

import (
	"math/rand/v2"
	"time"
)

// retry returns a wait from [base, 2*base) (client/client.go, retryIntv).
func retry(src *rand.PCG, base time.Duration) time.Duration {
	return base + stagger(src, base)
}

// rpcRetryFraction is structs.JitterFraction.
const rpcRetryFraction = 16

// heartbeatRetry returns the wait after a failed heartbeat of a client that has heartbeated
// before, given the time left of its TTL, which is negative after its end
// (client/client.go, getHeartbeatRetryIntv). The wait is 1 to 30 units: close to the end of
// the TTL or just after it 1 to 2; long after it, as if so much time were left.
//
// Nomad means to treat "no leader" as it does for registrations, but compares an error that
// it has wrapped. So the rule applies to that error too.
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
