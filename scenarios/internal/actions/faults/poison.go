package faults

import (
	"fmt"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/draw"
	"github.com/simctl/simctl/scenarios/internal/english"
)

var _ = actions.Register("poison_job", poisonJob{}, poisonJob.action, actions.Drawn(actions.OfServers, 10, 1, drawPoisonJob))

// poisonJob is which jobs to poison.
type poisonJob struct {
	Job    string `lang:"required,ref=job"`
	Copies *int
	For    time.Duration
}

func (w poisonJob) action(s *actions.Setting) (actions.Action, error) {
	jobs, err := s.First(w.Job, w.Copies)
	if err != nil {
		return nil, err
	}
	if err := s.Charge(len(jobs)); err != nil {
		return nil, err
	}
	return PoisonJobs{Block: w.Job, Jobs: jobs, For: w.For}, nil
}

// PoisonJobs makes every scheduler that takes an evaluation of these jobs panic.
type PoisonJobs struct {
	Block string
	Jobs  []*rpc.Job
	For   time.Duration
}

func (a PoisonJobs) Check(int) error { return actions.Lasting(a.For) }

func (a PoisonJobs) Mark() string {
	return fmt.Sprintf("%s %s make schedulers panic", english.Plural(len(a.Jobs), "job"), a.Block)
}

func (a PoisonJobs) Do(s *actions.Stage) error {
	set := func(poisoned bool) {
		for _, j := range a.Jobs {
			s.Simulated.PoisonJob(j.Namespace, j.ID, poisoned)
		}
	}
	set(true)
	s.Begin(a.For, "no scheduler panics any more", func() error { set(false); return nil })
	return nil
}

// drawPoisonJob poisons a job that has evaluations of its own: a periodic one has none.
func drawPoisonJob(s *draw.Source) draw.Event {
	j, ok := s.Job(func(j draw.Job) bool { return !j.Periodic })
	if !ok {
		return drawStartServer(s)
	}
	return draw.OfJob("poison_job", j, s.Lasts())
}
