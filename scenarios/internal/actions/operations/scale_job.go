package operations

import (
	"fmt"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/draw"
)

var _ = actions.Register("scale_job", jobScale{}, jobScale.action, actions.Soak{
	Draws:   []actions.Draw{{Kind: actions.OfUsers, Place: 2, Weight: 1, Event: drawScaleJob}},
	Refused: purged,
})

type jobScale struct {
	copies
	Count int `lang:"required"`
}

func (w jobScale) action(s *actions.Setting) (actions.Action, error) {
	if j := s.Jobs[w.Job]; len(j) > 0 && (j[0].Type == rpc.JobTypeSystem || j[0].Type == rpc.JobTypeSysBatch) {
		return nil, fmt.Errorf("job %s is a %s job, which has no count", w.Job, j[0].Type)
	}
	return w.each(s, fmt.Sprintf("are scaled to %d", w.Count), func(j *rpc.Job) actions.Action { return ScaleJob{Job: j.ID, Count: w.Count} })
}

// ScaleJob sets the count of the first group of a service or batch job.
type ScaleJob struct {
	request
	Job   string
	Count int
}

func (a ScaleJob) Mark() string { return fmt.Sprintf("job %s is scaled to %d", a.Job, a.Count) }

func (a ScaleJob) Do(s *actions.Stage) error {
	_, err := s.Cluster.ScaleJob(s.Ctx, "", a.Job, "", a.Count)
	return named(err, "scale job", a.Job)
}

// drawScaleJob scales a job that does not deploy: the cluster may refuse to scale another.
func drawScaleJob(s *draw.Source) draw.Event {
	j, ok := s.Job(func(j draw.Job) bool { return j.Count > 0 && !j.Deploys && !j.Periodic })
	if !ok {
		return drawUpdateJob(s)
	}
	return draw.OfJob("scale_job", j, "copies = 1", fmt.Sprintf("count = %d", s.Rand.IntN(2*j.Count)))
}
