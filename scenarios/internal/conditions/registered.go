package conditions

import (
	"fmt"
	"time"
)

var _ = register("registered", Registered{For: 3 * time.Second})

// Registered: every running client is ready and no evaluation has been created for For.
type Registered struct{ For time.Duration }

func (c Registered) Met(w *Watch) (time.Time, bool) {
	return later(w.ready.Since, w.created), w.ready.Holds
}

func (c Registered) Hold() time.Duration { return c.For }

func (c Registered) Progress(w *Watch) float64 {
	if w.Last.Fleet.Running == 0 {
		return 0
	}
	return float64(w.Last.Fleet.Ready) / float64(w.Last.Fleet.Running)
}

func (c Registered) Lacking(w *Watch) string {
	f := w.Last.Fleet
	text := fmt.Sprintf("%d of %d clients are ready", f.Ready, f.Running)
	if err := w.Last.FleetErr; err != nil {
		text += fmt.Sprintf("; %d registrations and %d heartbeats failed, the last with: %v", f.RegistrationErrors, f.HeartbeatErrors, err)
	}
	return text
}
