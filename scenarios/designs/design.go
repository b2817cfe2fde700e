package designs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster"
)

// Design is a way to do something otherwise than Nomad.
type Design struct {
	// Word is its name after the plus sign.
	Word string
	// Summary says what it does, Source where it comes from or where it is used, and Cost what
	// is paid for it or lost by it, in one line each.
	Summary, Source, Cost string
	// Alone says that it leaves nothing of a policy to choose: its word alone names a broker, in
	// servers of the release that brought shedding.
	Alone bool
	// Apply makes a cluster do it.
	Apply func(*cluster.DesignConfig)
}

// all has the designs in the order of their words.
var all []Design

// register makes a design known by its word.
func register(d Design) {
	if _, taken := find(d.Word); taken || strings.ContainsAny(d.Word, "+,") {
		panic(fmt.Sprintf("designs: %q: another one has this word, or it contains a plus sign or comma", d.Word))
	}
	all = append(all, d)
	slices.SortFunc(all, func(a, b Design) int { return cmp.Compare(a.Word, b.Word) })
}

func find(word string) (Design, bool) {
	i := slices.IndexFunc(all, func(d Design) bool { return d.Word == word })
	if i < 0 {
		return Design{}, false
	}
	return all[i], true
}

// All returns the designs in the order of their words.
func All() []Design { return slices.Clone(all) }

// Words returns the words of all designs.
func Words() []string {
	var words []string
	for _, d := range all {
		words = append(words, d.Word)
	}
	return words
}

// Brokers returns the names of a broker for each design, after those of the brokers that Nomad
// has had.
func Brokers() []string {
	names := []string{broker.Legacy().String(), broker.Shedding().String()}
	for _, d := range all {
		name := d.Word
		if !d.Alone {
			name = broker.Shedding().String() + "+" + name
		}
		names = append(names, name)
	}
	return names
}

// Split takes the words of designs out of a broker's name. It returns the rest, which names a
// policy, and the designs in the order of their words.
func Split(name string) (policy string, found []Design) {
	var rest []string
	for i, word := range strings.Split(name, "+") {
		d, ok := find(word)
		if ok && i == 0 && d.Alone {
			rest = append(rest, broker.Shedding().String())
		}
		if ok && len(rest) > 0 && !slices.ContainsFunc(found, func(f Design) bool { return f.Word == word }) {
			found = append(found, d)
		} else {
			rest = append(rest, word)
		}
	}
	slices.SortFunc(found, func(a, b Design) int { return cmp.Compare(a.Word, b.Word) })
	return strings.Join(rest, "+"), found
}
