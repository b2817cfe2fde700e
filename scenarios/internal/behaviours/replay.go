package behaviours

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
	"github.com/simctl/simctl/scenarios/internal/words"
)

func init() { words.Add(Kinds, "replay", replay{}, replay.behaviour) }

// replay: clients go up and down when a trace says so.
type replay struct {
	Group string `lang:"ref=group"`
	File  string `lang:"required"`
}

func (w replay) behaviour(s Setting) (*Behaviour, error) {
	text, err := s.Read(w.File)
	if err != nil {
		return nil, err
	}
	trace, err := parseTrace(text, Nodes(s.Groups, w.Group))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", w.File, err)
	}
	return &Behaviour{Group: w.Group, Share: 1, Routine: trace}, nil
}

// trace is when each client goes up or down, by its number within the group.
type trace map[int][]change

type change struct {
	At time.Duration
	Up bool
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
		slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(a.At, b.At) })
	}
	return t, nil
}

func parseInstant(text string) (time.Duration, error) {
	duration := text
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		duration = strconv.FormatFloat(seconds, 'f', 9, 64) + "s"
	}
	d, err := time.ParseDuration(duration)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is no instant: it must be seconds, or a duration such as 1h5m, from the behaviour's beginning", text)
	}
	return d, nil
}

func (t trace) Begin(unit int, _ *rand.Rand) (time.Duration, bool) {
	changes := t[unit]
	if len(changes) == 0 {
		return 0, false
	}
	return changes[0].At, true
}

func (t trace) Act(f *nodesim.Fleet, u *Unit) (time.Duration, bool) {
	changes := t[u.number]
	now := changes[u.acted]
	u.down = !now.Up
	if now.Up {
		f.StartClients(u.clients)
	} else {
		f.StopClients(u.clients)
	}
	if u.acted+1 == len(changes) {
		return 0, false
	}
	return changes[u.acted+1].At - now.At, true
}
