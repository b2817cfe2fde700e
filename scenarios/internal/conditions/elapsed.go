package conditions

import (
	"fmt"
	"time"
)

var _ = register("elapsed", Elapsed{})

// Elapsed: the phase has lasted For, whatever has become of it.
type Elapsed struct {
	For time.Duration `lang:"required"`
}

func (c Elapsed) Met(w *Watch) (time.Time, bool) { return w.Start, true }
func (c Elapsed) Hold() time.Duration            { return c.For }

// Idle returns For: quiet is no failure when only time is waited for.
func (c Elapsed) Idle() time.Duration { return c.For }

func (c Elapsed) Progress(w *Watch) float64 {
	if c.For <= 0 {
		return 1
	}
	return min(w.Last.At.Sub(w.Start).Seconds()/c.For.Seconds(), 1)
}

func (c Elapsed) Lacking(w *Watch) string {
	return fmt.Sprintf("%v of %v are over", w.Last.At.Sub(w.Start).Round(time.Second), c.For)
}
