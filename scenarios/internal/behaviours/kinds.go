package behaviours

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/simctl/simctl/nodesim"
	"github.com/simctl/simctl/scenarios/internal/draw"
	"github.com/simctl/simctl/scenarios/language"
)

var _ = register("flap", flap{participants: everybody}, Draw{Place: 1, Weight: 2, Lines: drawFlap})

// flap: clients fall silent for a draw of Down and are back for a draw of Up, again and
// again. The first time is after a draw of Offset.
type flap struct {
	participants
	Up, Down language.Distribution
	Offset   language.Distribution // zero = like Up
}

func (w flap) check() error {
	return errors.Join(positive("up", w.Up), positive("down", w.Down))
}

func (w flap) Begin(_ int, r *rand.Rand) (time.Duration, bool) {
	return cmp.Or(w.Offset, w.Up).Draw(r), true
}

func (w flap) Act(f *nodesim.Fleet, u *Unit) (time.Duration, bool) {
	u.down = !u.down
	if u.down {
		f.StopClients(u.clients)
		return w.Down.Draw(u.rand), true
	}
	f.StartClients(u.clients)
	return w.Up.Draw(u.rand), true
}

func drawFlap(s *draw.Source, wait string) (lines []string, leave bool) {
	return []string{"up = " + wait, "down = exponential(" + s.Delay(2*time.Second, time.Minute) + ")"}, false
}

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

var (
	_ = register("churn", churn{participants: everybody}, Draw{Place: 3, Weight: 1, Lines: drawRecurring})
	_ = register("fingerprint", fingerprint{participants: everybody, Attribute: "simctl.fingerprint"}, Draw{Place: 4, Weight: 1, Lines: drawRecurring})
)

// leastEvery is less than what clients of Nomad gather changes for, and far more than their registration takes.
const leastEvery = time.Second

// recurring is the part of a kind whose units act again and again, a draw of Every apart.
type recurring struct{ Every language.Distribution }

func (w recurring) check() error {
	err := positive("every", w.Every)
	if err == nil && w.Every.Mean() < leastEvery {
		err = fmt.Errorf("every is %v on average: it must be %v at least, since a client of Nomad does not register more often", w.Every.Mean(), leastEvery)
	}
	return err
}

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
