package operations

import (
	"errors"
	"fmt"
	"slices"

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

// each makes an action for each job of a job block, or for its first copies unless that is nil.
func each(s *actions.Setting, block string, copies *int, what string, action func(*rpc.Job) actions.Action) (actions.Action, error) {
	jobs, err := s.First(block, copies)
	if err != nil {
		return nil, err
	}
	if err := s.Charge(len(jobs)); err != nil {
		return nil, err
	}
	if len(jobs) == 1 {
		return action(jobs[0]), nil
	}
	all := Series{mark: fmt.Sprintf("%s %s %s", english.Plural(len(jobs), "job"), block, what)}
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

// On returns an error unless the target can be told every one of them.
func (a Series) On(t actions.Target) error {
	for _, one := range a.Actions {
		if err := actions.On(one, t); err != nil {
			return err
		}
	}
	return nil
}

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

// stopped says that soak has the job stopped before the event: it may have been collected by then.
func stopped(e draw.Event, before, _ []draw.Event) bool { return e.Follows(before, "stop_job") }

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

// On returns an error that names the first job that is for simulated clusters only.
func (a RegisterJobs) On(actions.Target) error {
	for _, j := range a.Jobs {
		if err := tellable(j); err != nil {
			return err
		}
	}
	return nil
}

// tellable returns an error if no real cluster can be told of the job. Real periodic jobs launch
// at times of a calendar, not every so often.
func tellable(j *rpc.Job) error {
	if j.Periodic != nil {
		return fmt.Errorf("job %s is periodic, which is for simulated clusters only: leave its every out", j.ID)
	}
	return nil
}

// Registers returns the jobs.
func (a RegisterJobs) Registers() []*rpc.Job { return a.Jobs }

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

var _ = actions.Register("update_job", jobUpdate{}, jobUpdate.action, actions.Drawn(actions.OfUsers, 1, 2, drawUpdateJob))

// jobUpdate submits a new version of a job: one that asks for other resources, by default for
// 1 MHz more than the version before.
type jobUpdate struct {
	Job       string `lang:"required,ref=job"`
	Copies    *int
	Resources *language.Resources
	Count     *int `lang:"max=1000000"`
}

func (w jobUpdate) action(s *actions.Setting) (actions.Action, error) {
	if err := s.Afford(len(s.Jobs[w.Job])); err != nil { // before making as many versions
		return nil, err
	}
	versions := map[string]*rpc.Job{}
	after := slices.Clone(s.Jobs[w.Job])
	for i, j := range after {
		next := j.Copy()
		next.TaskGroups = slices.Clone(j.TaskGroups)
		g := &next.TaskGroups[0]
		g.Resources.CPUMHz++
		g.Resources = Resources(w.Resources, g.Resources)
		if w.Count != nil {
			g.Count = *w.Count
		}
		if w.Copies == nil || i < *w.Copies {
			versions[j.ID], after[i] = next, next
		}
	}
	action, err := each(s, w.Job, w.Copies, "change", func(j *rpc.Job) actions.Action { return UpdateJob{Job: versions[j.ID]} })
	s.Jobs[w.Job] = after // events are built in order of time: the next change is one of this version
	return action, err
}

// UpdateJob submits a job again, changed: a new version of it.
type UpdateJob struct {
	request
	Job *rpc.Job
}

func (a UpdateJob) On(actions.Target) error { return tellable(a.Job) }

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

var _ = actions.Register("scale_job", ScaleJob{}, ScaleJob.action, actions.Drawn(actions.OfUsers, 2, 1, drawScaleJob).Unless(stopped))

// ScaleJob sets the count of the first group of a service or batch job.
type ScaleJob struct {
	request
	actions.Anywhere
	Job    string `lang:"required,ref=job"`
	Copies *int
	Count  int `lang:"required,max=1000000"`
}

func (a ScaleJob) action(s *actions.Setting) (actions.Action, error) {
	if j := s.Jobs[a.Job]; len(j) > 0 && (j[0].Type == rpc.JobTypeSystem || j[0].Type == rpc.JobTypeSysBatch) {
		return nil, fmt.Errorf("job %s is a %s job, which has no count", a.Job, j[0].Type)
	}
	return each(s, a.Job, a.Copies, fmt.Sprintf("are scaled to %d", a.Count), func(j *rpc.Job) actions.Action { a.Job = j.ID; return a })
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

var _ = actions.Register("stop_job", StopJob{}, StopJob.action, actions.Drawn(actions.OfUsers, 3, 1, drawStopJob).Unless(stopped))

// StopJob stops a job of the default namespace, or forgets it as well when Purge is set.
type StopJob struct {
	request
	actions.Anywhere
	Job    string `lang:"required,ref=job"`
	Copies *int
	Purge  bool
}

func (a StopJob) action(s *actions.Setting) (actions.Action, error) {
	return each(s, a.Job, a.Copies, "stop", func(j *rpc.Job) actions.Action { a.Job = j.ID; return a })
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

var _ = actions.Register("launch_job", LaunchJob{}, LaunchJob.action, actions.Drawn(actions.OfUsers, 6, 1, drawLaunchJob).Unless(stopped))

// LaunchJob launches a periodic job now.
type LaunchJob struct {
	request
	Job    string `lang:"required,ref=job"`
	Copies *int
}

func (a LaunchJob) action(s *actions.Setting) (actions.Action, error) {
	if j := s.Jobs[a.Job]; len(j) > 0 && j[0].Periodic == nil {
		return nil, fmt.Errorf("job %s is not periodic: it says no every", a.Job)
	}
	return each(s, a.Job, a.Copies, "are launched", func(j *rpc.Job) actions.Action { a.Job = j.ID; return a })
}

func (a LaunchJob) Mark() string { return fmt.Sprintf("periodic job %s is launched", a.Job) }

func (a LaunchJob) Do(s *actions.Stage) error {
	_, err := s.Simulated.ForcePeriodic(s.Ctx, "", a.Job)
	return named(err, "launch periodic job", a.Job)
}

func drawLaunchJob(s *draw.Source) draw.Event {
	j, ok := s.Job(func(j draw.Job) bool { return j.Periodic })
	if !ok {
		return drawRegisterJobs(s)
	}
	return draw.OfJob("launch_job", j, "copies = 1")
}

// What is drawn calls for it, so it is not drawn by itself.
var _ = actions.RegisterAction("evaluate_jobs", EvaluateJobs{}, actions.Soak{})

// EvaluateJobs makes schedulers look again at every job that the servers know, as nomad job eval does
// at one. Periodic jobs have no evaluations of their own.
type EvaluateJobs struct{ request }

func (EvaluateJobs) Mark() string { return "all jobs are evaluated" }

func (EvaluateJobs) Do(s *actions.Stage) error {
	leader := s.Cluster.Leader()
	if leader < 0 {
		return fmt.Errorf("list jobs to evaluate: %w", rpc.ErrNoLeader)
	}
	for j := range s.Simulated.State(leader).Snapshot().Jobs() {
		if j.Periodic != nil {
			continue
		}
		if _, err := s.Simulated.EvaluateJob(s.Ctx, j.Namespace, j.ID); err != nil && !errors.Is(err, rpc.ErrJobNotFound) {
			return named(err, "evaluate job", j.ID)
		}
	}
	return nil
}
