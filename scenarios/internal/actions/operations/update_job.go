package operations

import (
	"fmt"
	"slices"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/draw"
	"github.com/simctl/simctl/scenarios/language"
)

var _ = actions.Register("update_job", jobUpdate{}, jobUpdate.action, actions.Drawn(actions.OfUsers, 1, 2, drawUpdateJob))

// jobUpdate submits a new version of a job: one that asks for other resources, by default for
// 1 MHz more than the version before.
type jobUpdate struct {
	copies
	Resources *language.Resources
	Count     *int
}

func (w jobUpdate) action(s *actions.Setting) (actions.Action, error) {
	if err := s.Afford(len(s.Jobs[w.Job])); err != nil { // before making as many versions
		return nil, err
	}
	versions := map[string]*rpc.Job{}
	after := slices.Clone(s.Jobs[w.Job])
	for i, j := range after {
		next := *j
		next.TaskGroups = slices.Clone(j.TaskGroups)
		g := &next.TaskGroups[0]
		g.Resources.CPUMHz++
		g.Resources = Resources(w.Resources, g.Resources)
		if w.Count != nil {
			g.Count = *w.Count
		}
		if w.Copies == nil || i < *w.Copies {
			versions[j.ID], after[i] = &next, &next
		}
	}
	action, err := w.each(s, "change", func(j *rpc.Job) actions.Action { return UpdateJob{Job: versions[j.ID]} })
	s.Jobs[w.Job] = after // events are built in order of time: the next change is one of this version
	return action, err
}

// UpdateJob submits a job again, changed: a new version of it.
type UpdateJob struct {
	request
	Job *rpc.Job
}

func (a UpdateJob) Mark() string              { return fmt.Sprintf("job %s changes", a.Job.ID) }
func (a UpdateJob) Do(s *actions.Stage) error { return submit(s, "change job", a.Job) }

func drawUpdateJob(s *draw.Source) draw.Event {
	j := s.AnyJob()
	var lines []string
	if s.Chance(1, 2) {
		lines = append(lines, "copies = 1")
	}
	if j.Count > 0 && s.Chance(1, 3) {
		lines = append(lines, fmt.Sprintf("count = %d", s.Rand.IntN(2*j.Count)))
	}
	return draw.OfJob("update_job", j, lines...)
}
