package operations

import (
	"fmt"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/draw"
	"github.com/simctl/simctl/scenarios/internal/english"
	"github.com/simctl/simctl/scenarios/language"
)

// request makes an Action one that users and operators ask of the leader.
type request struct{}

func (request) AsksLeader() {}

// AllocResources is what an allocation asks for unless its job says otherwise: so little that
// nodes hold the allocations of many jobs.
var AllocResources = rpc.Resources{CPUMHz: 20, MemoryMB: 32, DiskMB: 10}

// Resources returns what a block says, by default otherwise.
func Resources(r *language.Resources, otherwise rpc.Resources) rpc.Resources {
	if r == nil {
		return otherwise
	}
	return rpc.Resources{CPUMHz: r.CPU, MemoryMB: r.Memory, DiskMB: r.Disk}
}

// copies is the block of an event about the jobs of a job block: all of them or the first few.
type copies struct {
	Job    string `lang:"required,ref=job"`
	Copies *int   // nil = all of them
}

// each makes an action for every job that is meant.
func (w copies) each(s *actions.Setting, what string, action func(*rpc.Job) actions.Action) (actions.Action, error) {
	jobs := s.Jobs[w.Job]
	if w.Copies != nil {
		if *w.Copies > len(jobs) {
			return nil, fmt.Errorf("%d copies of job %s: it has %d", *w.Copies, w.Job, len(jobs))
		}
		jobs = jobs[:*w.Copies]
	}
	if err := s.Charge(len(jobs)); err != nil {
		return nil, err
	}
	if len(jobs) == 1 {
		return action(jobs[0]), nil
	}
	all := Series{mark: fmt.Sprintf("%s %s %s", english.Plural(len(jobs), "job"), w.Job, what)}
	for _, j := range jobs {
		all.Actions = append(all.Actions, action(j))
	}
	return all, nil
}

// Series is actions one after the other: what one event does to several jobs.
type Series struct {
	request
	mark    string
	Actions []actions.Action
}

func (a Series) Mark() string { return a.mark }

func (a Series) Do(s *actions.Stage) error {
	for _, one := range a.Actions {
		if err := one.Do(s); err != nil {
			return err
		}
	}
	return nil
}

// submit registers a job.
func submit(s *actions.Stage, what string, j *rpc.Job) error {
	_, err := s.Cluster.RegisterJob(s.Ctx, j)
	return named(err, what, j.ID)
}

// named says what a request was about when it failed.
func named(err error, what, id string) error {
	if err != nil {
		return fmt.Errorf("%s %s: %w", what, id, err)
	}
	return nil
}

// purged says that soak has the job purged before the event.
func purged(e draw.Event, before, _ []draw.Event) bool {
	return e.Follows(before, "stop_job", "purge = true")
}
