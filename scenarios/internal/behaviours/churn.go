package behaviours

import (
	"math/rand/v2"
	"time"

	"github.com/simctl/simctl/nodesim"
	"github.com/simctl/simctl/scenarios/language"
)

var _ = register("churn", churn{participants: everybody}, Draw{Place: 3, Weight: 1, Lines: every})

// churn: machines are replaced by new ones, again and again, a draw of Every apart.
type churn struct {
	participants
	Every language.Distribution
}

func (w churn) check() error                                    { return positive("every", w.Every) }
func (w churn) Begin(_ int, r *rand.Rand) (time.Duration, bool) { return w.Every.Draw(r), true }

func (w churn) Act(f *nodesim.Fleet, u *Unit) (time.Duration, bool) {
	f.ReplaceClients(u.clients)
	return w.Every.Draw(u.rand), true
}
