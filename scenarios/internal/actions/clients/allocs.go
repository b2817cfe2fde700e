package clients

import (
	"errors"
	"fmt"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/draw"
	"github.com/simctl/simctl/scenarios/internal/english"
)

var _ = actions.Register("fail_allocs", failAllocs{}, failAllocs.action, actions.Drawn(actions.OfUsers, 5, 2, drawFailAllocs))

// failAllocs is the block of an event that makes up to Count allocations fail, of each job of a block or of its
// first Copies.
type failAllocs struct {
	Job    string `lang:"required,ref=job"`
	Copies *int
	Count  int `lang:"required,min=1,max=1000000"`
}

func (a failAllocs) action(s *actions.Setting) (actions.Action, error) {
	if !s.Reports {
		return nil, errors.New("clients that do not report never say that an allocation failed: set report_allocations = true in the fleet block")
	}
	jobs, err := s.First(a.Job, a.Copies)
	if err != nil {
		return nil, err
	}
	return FailAllocs{Jobs: jobs, Of: a.Job, Count: a.Count}, s.Charge(len(jobs))
}

// FailAllocs makes up to Count allocations of each of Jobs fail at one instant, of those that run. Their clients
// say so when they report next. Of is what the jobs are called together.
type FailAllocs struct {
	actions.Anywhere
	Jobs  []*rpc.Job
	Of    string
	Count int
}

func (a FailAllocs) Follow(h *actions.History) error { return h.NeedsClients() }

func (a FailAllocs) Mark() string {
	if len(a.Jobs) == 1 {
		return fmt.Sprintf("%s of job %s fail", english.Plural(a.Count, "allocation"), a.Jobs[0].ID)
	}
	return fmt.Sprintf("%s %s lose allocations", english.Plural(len(a.Jobs), "job"), a.Of)
}

func (a FailAllocs) Do(s *actions.Stage) error {
	for _, j := range a.Jobs {
		s.Fleet.FailAllocs(j.ID, a.Count)
	}
	return nil
}

func drawFailAllocs(s *draw.Source) draw.Event {
	j, ok := s.Job(func(j draw.Job) bool { return !j.Periodic && !(s.Collects && j.Kind == rpc.JobTypeSystem) })
	if !ok || !s.Reports {
		return drawStopClients(s)
	}
	return draw.OfJob("fail_allocs", j, "copies = 1", fmt.Sprintf("count = %d", []int{1, 10, 1 + s.Rand.IntN(20)}[s.Rand.IntN(3)]))
}
