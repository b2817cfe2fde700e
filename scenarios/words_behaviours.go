package scenarios

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/simctl/simctl/nodesim"
	"github.com/simctl/simctl/scenarios/language"
)

// behaviourWords are the kinds of behaviours there are.
var behaviourWords = map[string]word[*Behaviour]{
	"flap":        behaves(flapWord{who: everybody}),
	"stop":        behaves(stopWord{who: everybody}),
	"churn":       behaves(churnWord{who: everybody}),
	"fingerprint": behaves(fingerprintWord{who: everybody, Attribute: "simctl.fingerprint"}),
	"replay":      means(replayWord{}, replayWord.build),
}

// who is which clients behave that way.
type who struct {
	Group    string  `lang:"ref=group"`
	Share    float64 `lang:"max=1"`
	Together string  `lang:"oneof=rack|datacenter|group"`
}

var everybody = who{Share: 1}

func (w who) behaviour() *Behaviour {
	return &Behaviour{Group: w.Group, Share: w.Share, Together: w.Together}
}

// behaves makes a word of a struct that embeds who and is a doing itself.
func behaves[W interface {
	doing
	behaviour() *Behaviour
	check() error
}](defaults W) word[*Behaviour] {
	return means(defaults, func(w W, _ *builder) (*Behaviour, error) {
		b := w.behaviour()
		b.Doing = w
		return b, w.check()
	})
}

// positiveDistribution returns an error for a distribution that was left out.
func positiveDistribution(name string, d language.Distribution) error {
	if d.IsZero() || d.A == 0 && d.B == 0 {
		return fmt.Errorf("it must say %s, above 0", name)
	}
	return nil
}

// flapWord: clients fall silent for a draw of down, and are back for a draw of up, again and
// again. The first time is after a draw of offset.
type flapWord struct {
	who
	Up, Down language.Distribution
	Offset   language.Distribution // zero = like up
}

func (w flapWord) check() error {
	return errors.Join(positiveDistribution("up", w.Up), positiveDistribution("down", w.Down))
}

func (w flapWord) begin(_ int, r *rand.Rand) (time.Duration, bool) {
	if w.Offset.IsZero() {
		return w.Up.Draw(r), true
	}
	return w.Offset.Draw(r), true
}

func (w flapWord) act(f *nodesim.Fleet, u *unit) (time.Duration, bool) {
	u.down = !u.down
	if u.down {
		f.StopClients(u.clients)
		return w.Down.Draw(u.rand), true
	}
	f.StartClients(u.clients)
	return w.Up.Draw(u.rand), true
}

// stopWord: clients fall silent for good, each after a draw of after.
type stopWord struct {
	who
	After language.Distribution
}

func (w stopWord) check() error                                    { return nil }
func (w stopWord) begin(_ int, r *rand.Rand) (time.Duration, bool) { return w.After.Draw(r), true }

func (w stopWord) act(f *nodesim.Fleet, u *unit) (time.Duration, bool) {
	u.down = true
	f.StopClients(u.clients)
	return 0, false
}

// churnWord: machines are replaced by new ones, again and again, a draw of every apart.
type churnWord struct {
	who
	Every language.Distribution
}

func (w churnWord) check() error                                    { return positiveDistribution("every", w.Every) }
func (w churnWord) begin(_ int, r *rand.Rand) (time.Duration, bool) { return w.Every.Draw(r), true }

func (w churnWord) act(f *nodesim.Fleet, u *unit) (time.Duration, bool) {
	f.ReplaceClients(u.clients)
	return w.Every.Draw(u.rand), true
}

// fingerprintWord: an attribute of nodes changes, again and again, a draw of every apart.
type fingerprintWord struct {
	who
	Attribute string
	Every     language.Distribution
}

func (w fingerprintWord) check() error { return positiveDistribution("every", w.Every) }

func (w fingerprintWord) begin(_ int, r *rand.Rand) (time.Duration, bool) {
	return w.Every.Draw(r), true
}

func (w fingerprintWord) act(f *nodesim.Fleet, u *unit) (time.Duration, bool) {
	f.Refingerprint(u.clients, w.Attribute, strconv.Itoa(u.acted+1))
	return w.Every.Draw(u.rand), true
}

// replayWord: clients go up and down when a trace says so.
type replayWord struct {
	Group string `lang:"ref=group"`
	File  string `lang:"required"`
}

func (w replayWord) build(b *builder) (*Behaviour, error) {
	text, err := b.read(w.File)
	if err != nil {
		return nil, err
	}
	clients := 0
	for _, g := range groupsOf(b.clients) {
		if w.Group == "" || g.name == w.Group {
			clients += g.nodes
		}
	}
	trace, err := parseTrace(text, clients)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", w.File, err)
	}
	return &Behaviour{Group: w.Group, Share: 1, Doing: trace}, nil
}

// trace is when each client goes up or down, by its number within the group.
type trace map[int][]change

type change struct {
	at time.Duration
	up bool
}

// parseTrace reads lines of an instant, in seconds or as a duration, the number of a client,
// counted from 0 within its group, and up or down. What follows a # is a comment.
func parseTrace(text []byte, clients int) (trace, error) {
	t := trace{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line, _, _ := strings.Cut(lines.Text(), "#")
		words := strings.FieldsFunc(line, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' || r == '\r' })
		if len(words) == 0 {
			continue
		}
		if len(words) != 3 {
			return nil, fmt.Errorf("line %d: %q: it must be an instant, a client and up or down", n, line)
		}
		at, err := parseInstant(words[0])
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		client, err := strconv.Atoi(words[1])
		if err != nil || client < 0 || client >= clients {
			return nil, fmt.Errorf("line %d: client %q: it must be a number from 0 to %d", n, words[1], clients-1)
		}
		if words[2] != "up" && words[2] != "down" {
			return nil, fmt.Errorf("line %d: %q: it must be up or down", n, words[2])
		}
		t[client] = append(t[client], change{at, words[2] == "up"})
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(t) == 0 {
		return nil, errors.New("the trace is empty")
	}
	for _, changes := range t {
		slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	}
	return t, nil
}

func parseInstant(text string) (time.Duration, error) {
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		text = strconv.FormatFloat(seconds, 'f', 9, 64) + "s"
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is no instant: it must be seconds, or a duration such as 1h5m, from the behaviour's beginning", text)
	}
	return d, nil
}

func (t trace) begin(unit int, _ *rand.Rand) (time.Duration, bool) {
	changes := t[unit]
	if len(changes) == 0 {
		return 0, false
	}
	return changes[0].at, true
}

func (t trace) act(f *nodesim.Fleet, u *unit) (time.Duration, bool) {
	changes := t[u.number]
	now := changes[u.acted]
	u.down = !now.up
	if now.up {
		f.StartClients(u.clients)
	} else {
		f.StopClients(u.clients)
	}
	if u.acted+1 == len(changes) {
		return 0, false
	}
	return changes[u.acted+1].at - now.at, true
}

// beginWord begins a behaviour.
type beginWord struct {
	Behaviour string `lang:"required,ref=behaviour"`
}

func (w beginWord) build(b *builder) (Action, error) {
	return BeginBehaviour{b.behaviours[w.Behaviour]}, nil
}
