package designs

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
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
	// Alone says that the design replaces the policy altogether. So its word alone names a broker, and
	// the servers are of the release that brought shedding.
	Alone bool
	// Apply makes a cluster do it.
	Apply func(*cluster.DesignConfig)
	// Numbered takes the place of Apply if a number follows the word, as in pipeline-8.
	Numbered *Numbered
	stem     string // of a numbered one, the word without the number
	// With has the words of other designs without which this one makes no sense.
	With []string
}

// Numbered is a design of which there is one for each number.
type Numbered struct {
	// Usual is the number of the design that stands for those of all numbers.
	Least, Most, Usual int
	Apply              func(c *cluster.DesignConfig, n int)
}

// Syntax is the word, and what may follow it.
func (d Design) Syntax() string {
	if n := d.Numbered; n != nil {
		return fmt.Sprintf("%s-%d to %s-%d", d.Word, n.Least, d.Word, n.Most)
	}
	return d.Word
}

// Stem is the word, without the number of a numbered design.
func (d Design) Stem() string { return cmp.Or(d.stem, d.Word) }

// number returns the design for one number.
func (d Design) number(n int) Design {
	of := d.Numbered
	d.stem, d.Word, d.Numbered = d.Word, fmt.Sprintf("%s-%d", d.Word, n), nil
	d.Apply = func(c *cluster.DesignConfig) { of.Apply(c, n) }
	return d
}

// usual returns the design, or the one that stands for those of all numbers.
func (d Design) usual() Design {
	if d.Numbered != nil {
		return d.number(d.Numbered.Usual)
	}
	return d
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
	for _, d := range all {
		if d.Numbered == nil {
			if d.Word == word {
				return d, true
			}
			continue
		}
		digits, ok := strings.CutPrefix(word, d.Word+"-")
		n, err := strconv.Atoi(digits)
		if ok && err == nil && strconv.Itoa(n) == digits && d.Numbered.Least <= n && n <= d.Numbered.Most {
			return d.number(n), true
		}
	}
	return Design{}, false
}

// All returns the designs in the order of their words.
func All() []Design { return slices.Clone(all) }

// Words returns the words of all designs.
func Words() []string {
	var words []string
	for _, d := range all {
		words = append(words, d.Syntax())
	}
	return words
}

// Brokers returns the names of a broker for each design, after those of the brokers that Nomad
// has had.
func Brokers() []string {
	names := []string{broker.Legacy().String(), broker.Shedding().String()}
	for _, d := range all {
		names = append(names, d.Broker())
	}
	return names
}

// Broker returns the name of a broker that has the design, and what it makes sense with only.
func (d Design) Broker() string {
	words := append([]string{broker.Shedding().String()}, d.With...)
	if d.Alone {
		words = nil
	}
	return strings.Join(append(words, d.usual().Word), "+")
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
		if ok && len(rest) > 0 && !slices.ContainsFunc(found, func(f Design) bool { return f.Stem() == d.Stem() }) {
			found = append(found, d)
		} else {
			rest = append(rest, word)
		}
	}
	slices.SortFunc(found, func(a, b Design) int { return cmp.Compare(a.Word, b.Word) })
	return strings.Join(rest, "+"), found
}
