// Package draw draws random pieces of scenario files: the lines of an event, and the servers,
// clients and jobs that it concerns. Package soak puts schedules together from them.
//
// A Source draws the same pieces for the same seed, so the order of the calls counts. The
// package writes text and must not import what reads it.
package draw

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Source draws pieces that fit the cluster of one schedule. It is not safe for concurrent
// use.
type Source struct {
	Rand    *rand.Rand
	Servers int
	Groups  []string // of clients
	Jobs    []Job
	// Behaviours is the number of behaviours drawn so far.
	Behaviours int
	// Collects says that garbage is collected while the schedule runs. Then neither sysbatch jobs nor
	// failures of system allocations may be drawn: once the record of how they ended is collected, they
	// would run again.
	Collects bool
	// Reports says that clients report what becomes of their allocations.
	Reports bool
	// Signs says that clients have identities, which servers renew while the schedule runs.
	Signs bool
}

// Job is a job block of a schedule.
type Job struct {
	Name, Kind string
	Count      int // allocations of each copy; 0 for a job that runs on every node
	Deploys    bool
	Periodic   bool
}

// Event is one event of a schedule, as a scenario file says it.
type Event struct {
	Number int // from 1, in the order of time
	At     time.Duration
	// First are keywords of events that the event needs just before it, at its instant.
	First []string
	Word  string
	Lines []string
	// Behaviour is the block of the behaviour that the event begins. End is an event of later on
	// that the event calls for, such as the end of the behaviour. Both are empty for most events.
	Behaviour, End string
}

// NewEvent returns an event of a keyword with the lines of its block.
func NewEvent(word string, lines ...string) Event { return Event{Word: word, Lines: lines} }

// OfJob returns an event about a job.
func OfJob(word string, j Job, lines ...string) Event {
	return NewEvent(word, slices.Concat([]string{fmt.Sprintf("job = %q", j.Name)}, lines)...)
}

// Says reports whether the event's block has the line.
func (e Event) Says(line string) bool { return slices.Contains(e.Lines, line) }

// Follows reports whether one of the events has the keyword, concerns the same job as e and
// says all the lines.
func (e Event) Follows(events []Event, word string, lines ...string) bool {
	return slices.ContainsFunc(events, func(o Event) bool {
		return o.Word == word && o.Lines[0] == e.Lines[0] && !slices.ContainsFunc(lines, func(l string) bool { return !o.Says(l) })
	})
}

// Has reports whether one of the events has the keyword.
func Has(events []Event, word string) bool {
	return slices.ContainsFunc(events, func(e Event) bool { return e.Word == word })
}

// Chance reports true once in so many calls.
func (s *Source) Chance(one, in int) bool { return s.Rand.IntN(in) < one }

// Between draws a number, with two digits behind the point.
func (s *Source) Between(from, to float64) string {
	return fmt.Sprintf("%.2f", from+s.Rand.Float64()*(to-from))
}

// Delay draws a duration, in quotes.
func (s *Source) Delay(from, to time.Duration) string {
	return fmt.Sprintf("%q", (from + time.Duration(s.Rand.Int64N(int64(to-from)))).Truncate(time.Millisecond))
}

// Instant draws an instant in a window of time.
func (s *Source) Instant(window time.Duration) time.Duration {
	return time.Duration(s.Rand.Int64N(int64(window))).Truncate(time.Millisecond)
}

// Lasts draws the line that says how long a fault lasts: 1 s to 90 s, mostly short.
func (s *Source) Lasts() string {
	d := time.Second + time.Duration(s.Rand.Float64()*s.Rand.Float64()*float64(89*time.Second))
	return fmt.Sprintf("for = %q", d.Truncate(time.Millisecond))
}

// Pick draws one of some texts.
func (s *Source) Pick(of ...string) string { return of[s.Rand.IntN(len(of))] }

// Group draws a group of clients.
func (s *Source) Group() string { return s.Pick(s.Groups...) }

// Server draws a server: the leader, a follower or one by its number.
func (s *Source) Server() string {
	switch s.Rand.IntN(3) {
	case 0:
		return `"leader"`
	case 1:
		if s.Servers > 1 {
			return `"follower"`
		}
	}
	return s.Numbered()
}

// Numbered draws a server by its number.
func (s *Source) Numbered() string { return fmt.Sprint(1 + s.Rand.IntN(s.Servers)) }

// Nodes draws the line that says which nodes an operator means.
func (s *Source) Nodes() string {
	if s.Chance(1, 4) {
		return fmt.Sprintf("group = %q", s.Group())
	}
	return "fraction = " + s.Between(0.05, 0.4)
}

// Job draws one of the jobs that suit; false if none does.
func (s *Source) Job(suits func(Job) bool) (Job, bool) {
	fit := slices.DeleteFunc(slices.Clone(s.Jobs), func(j Job) bool { return !suits(j) })
	if len(fit) == 0 {
		return Job{}, false
	}
	return fit[s.Rand.IntN(len(fit))], true
}

// AnyJob draws one of the jobs.
func (s *Source) AnyJob() Job {
	j, _ := s.Job(func(Job) bool { return true })
	return j
}
