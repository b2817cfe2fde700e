package operations

import (
	"fmt"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/draw"
	"github.com/simctl/simctl/scenarios/internal/english"
)

var _ = actions.Register("fail_allocs", allocFailures{}, allocFailures.action, actions.Soak{
	Draws:   []actions.Draw{{Kind: actions.OfUsers, Place: 5, Weight: 2, Event: drawFailAllocs}},
	Refused: purged,
})

type allocFailures struct {
	copies
	Count int `lang:"required,min=1"`
}

func (w allocFailures) action(s *actions.Setting) (actions.Action, error) {
	return w.each(s, "lose allocations", func(j *rpc.Job) actions.Action { return FailAllocs{Job: j.ID, Count: w.Count} })
}

// FailAllocs makes up to Count allocations of a job fail at one instant.
type FailAllocs struct {
	request
	Job   string
	Count int
}

func (a FailAllocs) Mark() string {
	return fmt.Sprintf("%s of job %s fail", english.Plural(a.Count, "allocation"), a.Job)
}

func (a FailAllocs) Do(s *actions.Stage) error {
	_, err := s.Cluster.FailAllocs(s.Ctx, "", a.Job, a.Count)
	return named(err, "fail allocations of job", a.Job)
}

func drawFailAllocs(s *draw.Source) draw.Event {
	j, ok := s.Job(func(j draw.Job) bool { return !j.Periodic && !(s.Collects && j.Kind == rpc.JobTypeSystem) })
	if !ok {
		return drawUpdateJob(s)
	}
	return draw.OfJob("fail_allocs", j, "copies = 1", fmt.Sprintf("count = %d", []int{1, 10, 1 + s.Rand.IntN(20)}[s.Rand.IntN(3)]))
}
