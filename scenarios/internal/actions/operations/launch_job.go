package operations

import (
	"fmt"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/draw"
)

var _ = actions.Register("launch_job", jobLaunch{}, jobLaunch.action, actions.Soak{
	Draws:   []actions.Draw{{Kind: actions.OfUsers, Place: 6, Weight: 1, Event: drawLaunchJob}},
	Refused: func(e draw.Event, before, _ []draw.Event) bool { return e.Follows(before, "stop_job") },
})

type jobLaunch struct{ copies }

func (w jobLaunch) action(s *actions.Setting) (actions.Action, error) {
	if j := s.Jobs[w.Job]; len(j) > 0 && j[0].Periodic == nil {
		return nil, fmt.Errorf("job %s is not periodic: it says no every", w.Job)
	}
	return w.each(s, "are launched", func(j *rpc.Job) actions.Action { return LaunchJob{Job: j.ID} })
}

// LaunchJob launches a periodic job now.
type LaunchJob struct {
	request
	Job string
}

func (a LaunchJob) Mark() string { return fmt.Sprintf("periodic job %s is launched", a.Job) }

func (a LaunchJob) Do(s *actions.Stage) error {
	_, err := s.Cluster.ForcePeriodic(s.Ctx, "", a.Job)
	return named(err, "launch periodic job", a.Job)
}

func drawLaunchJob(s *draw.Source) draw.Event {
	j, ok := s.Job(func(j draw.Job) bool { return j.Periodic })
	if !ok {
		return drawRegisterJobs(s)
	}
	return draw.OfJob("launch_job", j, "copies = 1")
}
