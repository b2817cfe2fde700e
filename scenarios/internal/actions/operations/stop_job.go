package operations

import (
	"fmt"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/draw"
)

var _ = actions.Register("stop_job", jobStop{}, jobStop.action, actions.Soak{
	Draws:   []actions.Draw{{Kind: actions.OfUsers, Place: 3, Weight: 1, Event: drawStopJob}},
	Refused: purged,
})

type jobStop struct {
	copies
	Purge bool
}

func (w jobStop) action(s *actions.Setting) (actions.Action, error) {
	return w.each(s, "stop", func(j *rpc.Job) actions.Action { return StopJob{Job: j.ID, Purge: w.Purge} })
}

// StopJob stops a job of the default namespace, or forgets it as well when Purge is set.
type StopJob struct {
	request
	Job   string
	Purge bool
}

func (a StopJob) Mark() string {
	if a.Purge {
		return fmt.Sprintf("job %s is purged", a.Job)
	}
	return fmt.Sprintf("job %s is stopped", a.Job)
}

func (a StopJob) Do(s *actions.Stage) error {
	_, err := s.Cluster.StopJob(s.Ctx, "", a.Job, a.Purge)
	return named(err, "stop job", a.Job)
}

func drawStopJob(s *draw.Source) draw.Event {
	return draw.OfJob("stop_job", s.AnyJob(), "copies = 1", fmt.Sprintf("purge = %t", s.Chance(1, 4)))
}
