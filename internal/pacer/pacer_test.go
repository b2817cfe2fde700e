package pacer

import (
	"testing"
	"time"

	"github.com/simctl/simctl/internal/virtualtest"
)

// TestPacer: after an answer nothing is asked for as many times as long as it took, and never for too long.
func TestPacer(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		p := Pacer{Share: 20}
		for took, want := range map[time.Duration]time.Duration{0: 0, 50 * time.Millisecond: time.Second, time.Minute: longest} {
			began := time.Now()
			time.Sleep(took)
			p.Asked(began)
			for answered := time.Now(); p.Rests() || time.Since(answered) < want; time.Sleep(time.Millisecond) {
				if rested := time.Since(answered); p.Rests() != (rested < want) {
					t.Fatalf("an answer that took %v: rests %v after %v, want a rest of %v", took, p.Rests(), rested, want)
				}
			}
		}
		var never Pacer
		if never.Asked(time.Now().Add(-time.Hour)); never.Rests() {
			t.Error("the zero pacer rests")
		}
	})
}
