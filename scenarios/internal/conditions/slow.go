package conditions

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/simctl/simctl/scenarios/internal/english"
)

var _ = register("slow", Slow{Window: 10 * time.Second})

// Slow: of the evaluations that workers were done with in the last Window, more than one in a
// hundred took longer than P99 since it could first be dequeued. Real clusters do not tell.
type Slow struct {
	P99    time.Duration `lang:"required"`
	Window time.Duration
}

func (c Slow) Check() error {
	if c.P99 <= 0 || c.Window <= 0 {
		return errors.New("p99 and window must be above 0")
	}
	return nil
}

// p99 returns the 99th percentile, and of how many.
func (c Slow) p99(w *Watch) (time.Duration, int) {
	if len(w.recent) == 0 {
		return 0, 0
	}
	took := make([]time.Duration, len(w.recent))
	for i, r := range w.recent {
		took[i] = r.took
	}
	slices.Sort(took)
	return took[len(took)*99/100], len(took)
}

func (c Slow) Met(w *Watch) (time.Time, bool) {
	p99, _ := c.p99(w)
	w.own.see(w.Last.At, p99 > c.P99)
	return w.own.Since, w.own.Holds
}

func (c Slow) Hold() time.Duration { return 0 }

// Span returns how far back the condition looks.
func (c Slow) Span() time.Duration { return c.Window }

func (c Slow) Progress(w *Watch) float64 {
	p99, _ := c.p99(w)
	return min(p99.Seconds()/c.P99.Seconds(), 1)
}

func (c Slow) Lacking(w *Watch) string {
	p99, n := c.p99(w)
	return fmt.Sprintf("of %s in the last %v the 99th percentile took %v, and the phase waits for more than %v", english.Plural(n, "evaluation"), c.Window, p99, c.P99)
}
