package metrics

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/simctl/simctl/internal/outfile"
)

// Soak is what many random schedules came to.
type Soak struct {
	Schema  int       `json:"schema"` // that of the Results it was made from
	Command string    `json:"command"`
	Version string    `json:"version"`
	Began   time.Time `json:"began"`
	WallS   float64   `json:"wall_s"`
	Brokers []string  `json:"brokers"` // the older one first
	// Words are the events that schedules are made of.
	Words     []string       `json:"words"`
	Schedules []SoakSchedule `json:"schedules"`
}

// SoakSchedule is one random schedule and how its runs went.
type SoakSchedule struct {
	Seed     int64       `json:"seed"`
	Events   []SoakEvent `json:"events"` // in the order of time
	VirtualS float64     `json:"virtual_s"`
	// Digest is that of every event of its runs.
	Digest string `json:"digest"`
	// Reached are the states that its runs came to, in words.
	Reached []string `json:"reached"`
	// Problems say what is wrong; none is.
	Problems []string `json:"problems,omitempty"`
	// Needed is the fewest events found that still fail, Again the command that runs only these, and
	// File a scenario file of them below the directory of the report, if there is one.
	Needed int    `json:"needed,omitempty"`
	Again  string `json:"again,omitempty"`
	File   string `json:"file,omitempty"`
}

// SoakEvent is an event of a schedule.
type SoakEvent struct {
	AtS  float64 `json:"at_s"` // from the start of the phase of the events
	Word string  `json:"word"`
}

// SoakPairS is how long after another an event makes a pair with it, in seconds. Faults last
// about so long.
const SoakPairS = 30

// SoakPair is an event and one that came soon after it.
type SoakPair struct{ First, Then string }

// Pairs counts the schedules that have each pair.
func (s *Soak) Pairs() map[SoakPair]int {
	pairs := map[SoakPair]int{}
	for _, sched := range s.Schedules {
		seen := map[SoakPair]bool{}
		for i, first := range sched.Events {
			for _, then := range sched.Events[i+1:] {
				if then.AtS-first.AtS <= SoakPairS {
					seen[SoakPair{first.Word, then.Word}] = true
				}
			}
		}
		for p := range seen {
			pairs[p]++
		}
	}
	return pairs
}

// Failed returns the schedules with problems.
func (s *Soak) Failed() []SoakSchedule {
	var failed []SoakSchedule
	for _, sched := range s.Schedules {
		if len(sched.Problems) > 0 {
			failed = append(failed, sched)
		}
	}
	return failed
}

// WriteFile writes the soak as indented JSON, whole or not at all.
func (s *Soak) WriteFile(path string) error {
	data, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return fmt.Errorf("encoding the soak for %s: %w", path, err)
	}
	return outfile.Write(path, append(data, '\n'), 0o644)
}
