package actions

import (
	"errors"
	"fmt"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/scenarios/internal/behaviours"
	"github.com/simctl/simctl/scenarios/internal/english"
	"github.com/simctl/simctl/scenarios/internal/words"
)

// Action is something done to the cluster or the fleet.
type Action interface {
	// Mark is the text that marks the action in the Result; empty = none.
	Mark() string
	// Do does it. An action that finds no leader, or gets no answer, is done again later.
	Do(s *Stage) error
}

// Beginner is the filled block of an event that begins a behaviour.
type Beginner interface{ Begins() string }

// What an Action can say about itself besides.
type (
	// Checker is an Action that can be wrong before anything runs.
	Checker interface {
		// Check returns what is wrong with the action in a cluster of that many servers.
		Check(servers int) error
	}
	// Ordered is an Action that depends on what came before it in the scenario.
	Ordered interface {
		// Follow notes that the action comes next, or says why it cannot.
		Follow(h *History) error
	}
	// Request is an Action that users and operators ask of the leader; others befall machines and
	// networks. A request waits for the requests before it.
	Request interface{ AsksLeader() }
	// Registration is an Action that registers jobs.
	Registration interface{ Registers() []*rpc.Job }
	// Disturbance is an Action that makes clients start, stop or return, which has all jobs on them
	// evaluated.
	Disturbance interface {
		// Disturbs returns how often that happens to clients of these groups.
		Disturbs(groups []behaviours.Group) float64
	}
	// Enabler is an Action that can turn schedulers on.
	Enabler interface{ EnablesSchedulers() bool }
)

// History is what the events before an event did, as far as later events depend on it. The zero
// value is the history of the first event.
type History struct {
	Started  bool            // the clients
	Behaving map[string]bool // by the name of a behaviour
}

// ErrNoClients says that an event needs clients and comes before them.
var ErrNoClients = errors.New("there are no clients yet: start_clients must come first")

// NeedsClients returns an error unless the clients have been started.
func (h *History) NeedsClients() error {
	if !h.Started {
		return ErrNoClients
	}
	return nil
}

// maxJobActions is how many things the events of a scenario can do to jobs, one by one.
const maxJobActions = 1_000_000

// Setting is what an event can depend on beside its own block.
type Setting struct {
	Blocks []string // the names of the job blocks, in the order of the file
	// Jobs are the jobs of each block as the event finds them: an update replaces them.
	Jobs       map[string][]*rpc.Job
	Behaviours map[string]*behaviours.Behaviour
	Groups     []behaviours.Group // of the fleet
	Reports    bool               // the clients say what becomes of their allocations
	jobActions int
}

// First returns the jobs of a block, or its first copies unless that is nil.
func (s *Setting) First(block string, copies *int) ([]*rpc.Job, error) {
	jobs := s.Jobs[block]
	if copies == nil {
		return jobs, nil
	}
	if *copies > len(jobs) {
		return nil, fmt.Errorf("%s of job %s: it has %d", english.Agree(*copies, "copy", "copies"), block, len(jobs))
	}
	return jobs[:*copies], nil
}

// Afford returns an error if an event that does so many things to jobs is too much together
// with the events before it.
func (s *Setting) Afford(jobs int) error {
	if s.jobActions+jobs > maxJobActions {
		return fmt.Errorf("all events together do more than %d things to jobs", maxJobActions)
	}
	return nil
}

// Charge counts things that an event does to jobs, and returns the error of Afford.
func (s *Setting) Charge(jobs int) error {
	err := s.Afford(jobs)
	s.jobActions += jobs
	return err
}

// Keywords are the keywords of events.
var Keywords = words.Registry[*Setting, Action]{}

// Register declares a keyword: the defaults of its block, the Action that becomes of a filled
// copy, and how soak draws it.
func Register[A any](keyword string, defaults A, make func(A, *Setting) (Action, error), s Soak) struct{} {
	words.Add(Keywords, keyword, defaults, make)
	s.declare(keyword)
	return struct{}{}
}

// RegisterAction declares a keyword whose block fills the Action itself.
func RegisterAction[A Action](keyword string, defaults A, s Soak) struct{} {
	return Register(keyword, defaults, func(a A, _ *Setting) (Action, error) { return a, nil }, s)
}

// Positive returns an error unless the duration of that name is above zero.
func Positive(name string, d time.Duration) error {
	if d <= 0 {
		return fmt.Errorf("%s is %v: it must be above 0", name, d)
	}
	return nil
}

// Lasting returns an error if a fault lasts for less than no time.
func Lasting(d time.Duration) error {
	if d < 0 {
		return fmt.Errorf("it lasts %v: that must not be below 0", d)
	}
	return nil
}

// ShareOfClients returns an error unless the share is from 0 to 1.
func ShareOfClients(f float64) error {
	if !(f >= 0 && f <= 1) { // so that a NaN is refused
		return fmt.Errorf("a share of %g of the clients: it must be a number from 0 to 1", f)
	}
	return nil
}
