package behaviours

import (
	"math/rand/v2"
	"time"

	"github.com/simctl/simctl/nodesim"
	"github.com/simctl/simctl/scenarios/internal/draw"
	"github.com/simctl/simctl/scenarios/language"
)

var _ = register("stop", stop{participants: everybody}, Draw{Place: 2, Weight: 1, Lines: drawStop})

// stop: clients fall silent for good, each after a draw of After.
type stop struct {
	participants
	After language.Distribution
}

func (w stop) check() error                                    { return nil }
func (w stop) Begin(_ int, r *rand.Rand) (time.Duration, bool) { return w.After.Draw(r), true }

func (w stop) Act(f *nodesim.Fleet, u *Unit) (time.Duration, bool) {
	u.down = true
	f.StopClients(u.clients)
	return 0, false
}

func drawStop(s *draw.Source, _ string) (lines []string, leave bool) {
	return []string{"after = uniform(\"0s\", \"1m\")"}, s.Chance(1, 2)
}
