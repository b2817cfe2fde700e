package operations

import (
	"math"
	"testing"
	"time"
)

// TestSubmissionsAreDue: jobs come as the rate says, which rises evenly and then stays.
func TestSubmissionsAreDue(t *testing.T) {
	steady := SubmitJobs{PerSecond: 4}
	// 10 a second rising to 30 within 10 s: 200 jobs in the ramp.
	ramp := SubmitJobs{PerSecond: 10, RisingTo: 30, Within: 10 * time.Second}
	for _, c := range []struct {
		what    string
		a       SubmitJobs
		number  int
		seconds float64
		rate    float64
	}{
		{"the first", steady, 0, 0, 4},
		{"steady", steady, 10, 2.5, 4},
		{"the first of a ramp", ramp, 0, 0, 10},
		{"in the ramp", ramp, 75, 5, 20}, // 10*5 + 2*5*5/2
		{"its end", ramp, 200, 10, 30},
		{"after it", ramp, 500, 20, 30},
	} {
		got := c.a.due(c.number)
		if math.Abs(got.Seconds()-c.seconds) > 1e-6 {
			t.Errorf("%s: job %d is due after %v, want %g s", c.what, c.number, got, c.seconds)
		}
		if rate := c.a.rate(got); math.Abs(rate-c.rate) > 1e-6 {
			t.Errorf("%s: the rate is %g, want %g", c.what, rate, c.rate)
		}
	}
	if never := (SubmitJobs{PerSecond: 1e-12}).due(1); never < 50*365*24*time.Hour {
		t.Errorf("a job that is due in thirty thousand years is due after %v", never)
	}
	for n := range 1000 {
		if ramp.due(n+1) <= ramp.due(n) {
			t.Fatalf("job %d is due after %v, the next after %v", n, ramp.due(n), ramp.due(n+1))
		}
	}
}
