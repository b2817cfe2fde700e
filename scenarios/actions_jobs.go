package scenarios

import (
	"fmt"

	"github.com/simctl/simctl/cluster/rpc"
)

// Actions of users, and of clients on their allocations. An empty Namespace stands for
// "default".
type (
	// UpdateJob submits a job again, changed: a new version of it.
	UpdateJob struct{ Job *rpc.Job }
	// StopJob stops a job, or forgets it as well when Purge is set.
	StopJob struct {
		Namespace, Job string
		Purge          bool
	}
	// ScaleJob sets the count of a group of a service or batch job; an empty Group is the
	// first.
	ScaleJob struct {
		Namespace, Job, Group string
		Count                 int
	}
	// FailAllocs makes up to Count allocations of a job fail at one instant.
	FailAllocs struct {
		Namespace, Job string
		Count          int
	}
	// ForcePeriodic launches a periodic job now. (RegisterJobs and UpdateJob submit them: a
	// job is periodic if its Periodic is set.)
	ForcePeriodic struct{ Namespace, Job string }
	// CollectGarbage makes the cluster delete everything that is over, however new.
	CollectGarbage struct{}
	// PauseEvalBroker stops the leader's broker, ResumeEvalBroker lets it go on: what
	// pause_eval_broker in the scheduler configuration does.
	PauseEvalBroker  struct{}
	ResumeEvalBroker struct{}
)

func (a UpdateJob) Mark() string { return fmt.Sprintf("job %s changes", a.Job.ID) }

func (a UpdateJob) do(r *run) error {
	_, err := r.cluster.RegisterJob(r.ctx, r.sc.scaledJob(a.Job))
	return named(err, "change job", a.Job.ID)
}

func (a StopJob) Mark() string {
	if a.Purge {
		return fmt.Sprintf("job %s is purged", a.Job)
	}
	return fmt.Sprintf("job %s is stopped", a.Job)
}

func (a StopJob) do(r *run) error {
	_, err := r.cluster.StopJob(r.ctx, a.Namespace, a.Job, a.Purge)
	return named(err, "stop job", a.Job)
}

func (a ScaleJob) Mark() string { return fmt.Sprintf("job %s is scaled to %d", a.Job, a.Count) }

func (a ScaleJob) do(r *run) error {
	_, err := r.cluster.ScaleJob(r.ctx, a.Namespace, a.Job, a.Group, a.Count)
	return named(err, "scale job", a.Job)
}

func (a FailAllocs) Mark() string {
	return fmt.Sprintf("%s of job %s fail", plural(a.Count, "allocation"), a.Job)
}

func (a FailAllocs) do(r *run) error {
	_, err := r.cluster.FailAllocs(r.ctx, a.Namespace, a.Job, a.Count)
	return named(err, "fail allocations of job", a.Job)
}

func (a ForcePeriodic) Mark() string { return fmt.Sprintf("periodic job %s is launched", a.Job) }

func (a ForcePeriodic) do(r *run) error {
	_, err := r.cluster.ForcePeriodic(r.ctx, a.Namespace, a.Job)
	return named(err, "launch periodic job", a.Job)
}

func (CollectGarbage) Mark() string { return "garbage is collected" }

func (CollectGarbage) do(r *run) error { return r.cluster.ForceGC(r.ctx) }

func (PauseEvalBroker) Mark() string { return "broker paused" }

func (PauseEvalBroker) do(r *run) error { return r.cluster.PauseEvalBroker(r.ctx, true) }

func (ResumeEvalBroker) Mark() string { return "broker resumed" }

func (ResumeEvalBroker) do(r *run) error { return r.cluster.PauseEvalBroker(r.ctx, false) }

// named says what an action was about when it failed.
func named(err error, what, id string) error {
	if err != nil {
		return fmt.Errorf("%s %s: %w", what, id, err)
	}
	return nil
}
