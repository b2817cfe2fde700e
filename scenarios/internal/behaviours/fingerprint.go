package behaviours

import (
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/simctl/simctl/nodesim"
	"github.com/simctl/simctl/scenarios/language"
)

var _ = register("fingerprint", fingerprint{participants: everybody, Attribute: "simctl.fingerprint"}, Draw{Place: 4, Weight: 1, Lines: every})

// fingerprint: an attribute of nodes changes, again and again, a draw of Every apart.
type fingerprint struct {
	participants
	Attribute string
	Every     language.Distribution
}

func (w fingerprint) check() error                                    { return positive("every", w.Every) }
func (w fingerprint) Begin(_ int, r *rand.Rand) (time.Duration, bool) { return w.Every.Draw(r), true }

func (w fingerprint) Act(f *nodesim.Fleet, u *Unit) (time.Duration, bool) {
	f.Refingerprint(u.clients, w.Attribute, strconv.Itoa(u.acted+1))
	return w.Every.Draw(u.rand), true
}
