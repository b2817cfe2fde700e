package realcluster

import (
	"testing"
	"time"

	"github.com/simctl/simctl/internal/virtualtest"
)

// TestPacer: after an answer nothing is asked for as many times as long as it took, and never for too long.
func TestPacer(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		p := pacer{share: 20}
		for took, want := range map[time.Duration]time.Duration{0: 0, 50 * time.Millisecond: time.Second, time.Minute: longestRest} {
			began := time.Now()
			time.Sleep(took)
			p.asked(began)
			for answered := time.Now(); p.rests() || time.Since(answered) < want; time.Sleep(time.Millisecond) {
				if rested := time.Since(answered); p.rests() != (rested < want) {
					t.Fatalf("an answer that took %v: rests %v after %v, want a rest of %v", took, p.rests(), rested, want)
				}
			}
		}
		var never pacer
		if never.asked(time.Now().Add(-time.Hour)); never.rests() {
			t.Error("the zero pacer rests")
		}
	})
}
