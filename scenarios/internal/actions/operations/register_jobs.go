package operations

import (
	"fmt"
	"slices"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/draw"
	"github.com/simctl/simctl/scenarios/internal/english"
)

var _ = actions.Register("register_jobs", jobNames{}, jobNames.action, actions.Drawn(actions.OfUsers, 4, 1, drawRegisterJobs))

// jobNames is which jobs to register.
type jobNames struct {
	Jobs []string `lang:"ref=job"` // nil = all
}

func (w jobNames) action(s *actions.Setting) (actions.Action, error) {
	a := RegisterJobs{}
	for _, block := range s.Blocks {
		if w.Jobs == nil || slices.Contains(w.Jobs, block) {
			a.Jobs = append(a.Jobs, s.Jobs[block]...)
		}
	}
	return a, nil
}

// RegisterJobs submits jobs one after the other. A job is periodic if its Periodic is set.
type RegisterJobs struct {
	request
	Jobs []*rpc.Job
}

// Registers returns the number of jobs.
func (a RegisterJobs) Registers() int { return len(a.Jobs) }

func (a RegisterJobs) Mark() string {
	return fmt.Sprintf("%s registered", english.Plural(len(a.Jobs), "job"))
}

func (a RegisterJobs) Do(s *actions.Stage) error {
	for _, job := range a.Jobs {
		if err := submit(s, "register job", job); err != nil {
			return err
		}
	}
	return nil
}

// drawRegisterJobs submits a job as it was in the beginning: it may have changed, or stopped.
func drawRegisterJobs(s *draw.Source) draw.Event {
	return draw.NewEvent("register_jobs", fmt.Sprintf("jobs = [%q]", s.AnyJob().Name))
}
