package scenarios

import (
	"fmt"
	"slices"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/scenarios/language"
)

// series is actions one after the other: what one event does to several jobs.
type series struct {
	mark    string
	actions []Action
}

func (s series) Mark() string { return s.mark }

func (s series) do(r *run) error {
	for _, a := range s.actions {
		if err := a.do(r); err != nil {
			return err
		}
	}
	return nil
}

// jobsWord is which jobs to register.
type jobsWord struct {
	Jobs []string `lang:"ref=job"` // nil = all
}

func (w jobsWord) build(b *builder) (Action, error) {
	a := RegisterJobs{}
	for _, job := range b.def.Jobs {
		if w.Jobs == nil || slices.Contains(w.Jobs, job.Name) {
			a.Jobs = append(a.Jobs, b.jobs[job.Name]...)
		}
	}
	return a, nil
}

// copiesWord is a job block, and how many of its copies are meant.
type copiesWord struct {
	Job    string `lang:"required,ref=job"`
	Copies *int   // nil = all of them
}

// each makes an action for every job that is meant.
func (w copiesWord) each(b *builder, what string, action func(*rpc.Job) Action) (Action, error) {
	jobs := b.jobs[w.Job]
	if w.Copies != nil {
		if *w.Copies > len(jobs) {
			return nil, fmt.Errorf("%d copies of job %s: it has %d", *w.Copies, w.Job, len(jobs))
		}
		jobs = jobs[:*w.Copies]
	}
	if b.actions += len(jobs); b.actions > maxActions {
		return nil, fmt.Errorf("all events together do more than %d things to jobs", maxActions)
	}
	if len(jobs) == 1 {
		return action(jobs[0]), nil
	}
	s := series{mark: fmt.Sprintf("%s %s %s", plural(len(jobs), "job"), w.Job, what)}
	for _, j := range jobs {
		s.actions = append(s.actions, action(j))
	}
	return s, nil
}

type stopJobWord struct {
	copiesWord
	Purge bool
}

func (w stopJobWord) build(b *builder) (Action, error) {
	return w.each(b, "stop", func(j *rpc.Job) Action { return StopJob{Job: j.ID, Purge: w.Purge} })
}

type scaleJobWord struct {
	copiesWord
	Count int `lang:"required"`
}

func (w scaleJobWord) build(b *builder) (Action, error) {
	if j := b.jobs[w.Job]; len(j) > 0 && (j[0].Type == rpc.JobTypeSystem || j[0].Type == rpc.JobTypeSysBatch) {
		return nil, fmt.Errorf("job %s is a %s job, which has no count", w.Job, j[0].Type)
	}
	return w.each(b, fmt.Sprintf("are scaled to %d", w.Count), func(j *rpc.Job) Action { return ScaleJob{Job: j.ID, Count: w.Count} })
}

// launchJobWord launches periodic jobs now.
type launchJobWord struct{ copiesWord }

func (w launchJobWord) build(b *builder) (Action, error) {
	if j := b.jobs[w.Job]; len(j) > 0 && j[0].Periodic == nil {
		return nil, fmt.Errorf("job %s is not periodic: it says no every", w.Job)
	}
	return w.each(b, "are launched", func(j *rpc.Job) Action { return ForcePeriodic{Job: j.ID} })
}

type failAllocsWord struct {
	copiesWord
	Count int `lang:"required,min=1"`
}

func (w failAllocsWord) build(b *builder) (Action, error) {
	return w.each(b, "lose allocations", func(j *rpc.Job) Action { return FailAllocs{Job: j.ID, Count: w.Count} })
}

// updateJobWord submits a new version of a job: one that asks for other resources, by
// default for 1 MHz more than the version before.
type updateJobWord struct {
	copiesWord
	Resources *language.Resources
	Count     *int
}

func (w updateJobWord) build(b *builder) (Action, error) {
	if b.actions+len(b.jobs[w.Job]) > maxActions { // before making as many versions
		return nil, fmt.Errorf("all events together do more than %d things to jobs", maxActions)
	}
	versions := map[string]*rpc.Job{}
	for i, j := range b.jobs[w.Job] {
		next := *j
		next.TaskGroups = slices.Clone(j.TaskGroups)
		g := &next.TaskGroups[0]
		g.Resources.CPUMHz++
		g.Resources = resources(w.Resources, g.Resources)
		if w.Count != nil {
			g.Count = *w.Count
		}
		if w.Copies == nil || i < *w.Copies {
			versions[j.ID] = &next
		}
	}
	before := slices.Clone(b.jobs[w.Job])
	action, err := copiesWord{w.Job, w.Copies}.each(b, "change", func(j *rpc.Job) Action { return UpdateJob{versions[j.ID]} })
	for i, j := range before { // events are built in order of time: the next change is one of this version
		if next, ok := versions[j.ID]; ok {
			before[i] = next
		}
	}
	b.jobs[w.Job] = before
	return action, err
}
