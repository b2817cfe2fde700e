package behaviours

import (
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/simctl/simctl/nodesim"
	"github.com/simctl/simctl/scenarios/internal/draw"
	"github.com/simctl/simctl/scenarios/language"
)

var (
	_ = register("churn", churn{participants: everybody}, Draw{Place: 3, Weight: 1, Lines: drawRecurring})
	_ = register("fingerprint", fingerprint{participants: everybody, Attribute: "simctl.fingerprint"}, Draw{Place: 4, Weight: 1, Lines: drawRecurring})
)

// recurring is the part of a kind whose units act again and again, a draw of Every apart.
type recurring struct{ Every language.Distribution }

func (w recurring) check() error                                    { return positive("every", w.Every) }
func (w recurring) Begin(_ int, r *rand.Rand) (time.Duration, bool) { return w.Every.Draw(r), true }

func drawRecurring(_ *draw.Source, wait string) (lines []string, leave bool) {
	return []string{"every = " + wait}, false
}

// churn: machines are replaced by new ones.
type churn struct {
	participants
	recurring
}

func (w churn) Act(f *nodesim.Fleet, u *Unit) (time.Duration, bool) {
	f.ReplaceClients(u.clients)
	return w.Every.Draw(u.rand), true
}

// fingerprint: an attribute of nodes changes.
type fingerprint struct {
	participants
	recurring
	Attribute string
}

func (w fingerprint) Act(f *nodesim.Fleet, u *Unit) (time.Duration, bool) {
	f.Refingerprint(u.clients, w.Attribute, strconv.Itoa(u.acted+1))
	return w.Every.Draw(u.rand), true
}
