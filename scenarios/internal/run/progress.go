package run

import (
	"sync"
	"time"

	"github.com/simctl/simctl/scenarios/internal/actions"
)

// Progress is how far a run has come.
type Progress struct {
	Phase      string  `json:"phase"`
	PhaseIndex int     `json:"phase_index"` // from 0
	Phases     int     `json:"phases"`
	VirtualS   float64 `json:"virtual_s"` // since the run's start, on the run's clock
	Pending    int     `json:"pending"`   // ready, with workers and pending in the broker
	Cancelable int     `json:"cancelable"`
	// StatePending is the number of evaluations that are pending in state.
	StatePending int            `json:"state_pending"`
	RaftIndex    uint64         `json:"raft_index"`
	Nodes        map[string]int `json:"nodes,omitempty"` // by status
	Done         float64        `json:"done"`            // share of the phase, 0 to 1; -1 = unknown
	Leader       string         `json:"leader,omitempty"`
	// Queues counts the evaluations in the broker: ready, unacked, pending, cancelable. It is nil if nobody can tell.
	Queues map[string]int `json:"queues,omitempty"`
	// Marks are what has happened since the last report, and Faults are those under way.
	Marks  []string `json:"marks,omitempty"`
	Faults []string `json:"faults,omitempty"`
}

// Share returns the share of the whole run that is done, 0 to 1, if all phases count alike. A
// phase that cannot tell how far it is counts as just begun.
func (p Progress) Share() float64 {
	if p.Phases == 0 {
		return 0
	}
	return (float64(p.PhaseIndex) + max(p.Done, 0)) / float64(p.Phases)
}

// progressEvery is the least wall time between two reports of progress.
const progressEvery = 100 * time.Millisecond

// world is what a run knows of the time outside its own clock.
type world interface {
	Wall() time.Duration // since the run's start
	Alive()
}

// wallWorld is the world of a run on the wall clock.
type wallWorld struct{ start time.Time }

func (w wallWorld) Wall() time.Duration { return time.Since(w.start) }
func (w wallWorld) Alive()              {}

// teller reports progress, but not more often than progressEvery.
type teller struct {
	tell func(Progress)
	last time.Duration
	said bool

	mu     sync.Mutex // the events have a goroutine of their own
	marks  []string   // for the next report
	faults []string
}

func (t *teller) say(wall time.Duration, now bool, p Progress) {
	if t.tell == nil || !now && t.said && wall-t.last < progressEvery {
		return
	}
	t.last, t.said = wall, true
	t.mu.Lock()
	p.Marks, p.Faults, t.marks = t.marks, t.faults, nil
	t.mu.Unlock()
	t.tell(p)
}

func (t *teller) mark(what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tell != nil {
		t.marks = append(t.marks, what)
	}
}

// underWay takes note of the faults of a stage, on whose goroutine it is called.
func (t *teller) underWay(stage *actions.Stage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.faults = nil
	for what := range stage.Faults {
		t.faults = append(t.faults, what)
	}
}
