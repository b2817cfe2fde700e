package scenarios

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/simctl/simctl/cluster/apitypes"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/internal/redact"
	"github.com/simctl/simctl/scenarios/internal/actions/operations"
	"github.com/simctl/simctl/scenarios/internal/realcluster"
	"github.com/simctl/simctl/scenarios/language"
)

// Size is how large the cluster of a scenario is, and what runs there once all its jobs are
// registered.
type Size struct {
	Nodes, Servers, Schedulers int // workers of each server
	SystemJobs, ServiceJobs    int // those that run on every node, and the others
	ServiceAllocs              int
}

// Size returns how large the cluster is.
func (c *Compiled) Size() Size {
	words := c.def.Cluster.Args.(*clusterWords)
	s := Size{Nodes: c.scenario.Fleet.Nodes, Servers: words.Servers, Schedulers: words.Schedulers}
	for _, p := range c.scenario.Phases {
		for _, e := range p.Events {
			if a, ok := e.Action.(operations.SetSchedulers); ok {
				s.Schedulers = max(s.Schedulers, a.PerServer)
			}
		}
	}
	s.add(c.registered())
	return s
}

// registered returns the jobs that the scenario registers, each once.
func (c *Compiled) registered() []*rpc.Job {
	jobs := map[string]*rpc.Job{}
	for _, p := range c.scenario.Phases {
		for _, e := range p.Events {
			if a, ok := e.Action.(operations.RegisterJobs); ok {
				for _, j := range a.Jobs {
					jobs[j.ID] = j
				}
			}
		}
	}
	return slices.Collect(maps.Values(jobs))
}

// add adds jobs.
func (s *Size) add(jobs []*rpc.Job) {
	for _, j := range jobs {
		if j.Type == rpc.JobTypeSystem || j.Type == rpc.JobTypeSysBatch {
			s.SystemJobs++
			continue
		}
		s.ServiceJobs++
		for _, g := range j.TaskGroups {
			s.ServiceAllocs += g.Count
		}
	}
}

// makeJobs makes the jobs of every job block.
func (b *builder) makeJobs() error {
	b.setting.Jobs = map[string][]*rpc.Job{}
	total := 0
	for _, j := range b.def.Jobs {
		b.setting.Blocks = append(b.setting.Blocks, j.Name)
		one, err := b.job(j)
		if err != nil {
			return err
		}
		if j.Copies == nil {
			one.ID = j.Name
			b.setting.Jobs[j.Name] = []*rpc.Job{one}
			continue
		}
		if total += *j.Copies; total > maxJobs {
			return b.def.Errorf(j.At, "Too many jobs", "%d jobs: there must be %d at most.", total, maxJobs)
		}
		for i := range *j.Copies {
			copied := *one
			copied.ID = fmt.Sprintf("%s-%03d", j.Name, i)
			b.setting.Jobs[j.Name] = append(b.setting.Jobs[j.Name], &copied)
		}
	}
	return nil
}

// job returns the job of a block, without its ID.
func (b *builder) job(j language.Job) (*rpc.Job, error) {
	job := &rpc.Job{
		Namespace: rpc.DefaultNamespace, Type: j.Type, Priority: 50, /* structs.JobDefaultPriority */
		Datacenters: b.datacenters(),
		TaskGroups:  []rpc.TaskGroup{{Name: "group", Count: 1, Resources: operations.AllocResources}},
	}
	if j.Spec != "" {
		var err error
		if job, err = b.defined(j); err != nil {
			return nil, b.def.Errorf(j.At, "Impossible job", "The spec of job %s: %s: %v.", j.Name, j.Spec, err)
		}
	}
	job.Priority = cmp.Or(j.Priority, job.Priority)
	if j.Datacenters != nil {
		job.Datacenters = j.Datacenters
	}
	for i := range job.TaskGroups {
		g := &job.TaskGroups[i]
		g.Resources = operations.Resources(j.Resources, g.Resources)
		replace(&g.Count, j.Count)
		replace(&g.MaxClientDisconnect, j.MaxClientDisconnect)
		replace(&g.MaxParallel, j.MaxParallel)
	}
	if j.Every != 0 {
		job.Periodic = &rpc.PeriodicConfig{Every: j.Every}
	}
	if job.Periodic != nil && j.ProhibitOverlap {
		job.Periodic.ProhibitOverlap = true
	}
	if known := b.datacenters(); !slices.ContainsFunc(known, func(dc string) bool { return rpc.NamesDatacenter(job.Datacenters, dc) }) && len(job.Datacenters) > 0 {
		b.warnings = append(b.warnings, fmt.Sprintf("job %s runs nowhere: it is for %s, and the clients are in %s", j.Name, strings.Join(job.Datacenters, ", "), strings.Join(known, ", ")))
	}
	return job, b.checkJob(j, job)
}

// replace sets a value to what a block says.
func replace[T any](value, said *T) {
	if said != nil {
		*value = *said
	}
}

func (b *builder) checkJob(j language.Job, job *rpc.Job) error {
	switch p := job.Periodic; {
	case job.Type == "":
		return b.def.Errorf(j.At, "Missing type", "Job %s has no type: say type = \"service\", \"batch\", \"system\" or \"sysbatch\", or name a definition (spec).", j.Name)
	case len(job.Datacenters) == 0:
		return b.def.Errorf(j.At, "Nowhere to run", "Job %s names no datacenter, and so would run nowhere.", j.Name)
	case j.MaxParallel != nil && *j.MaxParallel > 0 && (job.Type == rpc.JobTypeBatch || job.Type == rpc.JobTypeSysBatch):
		return b.def.Errorf(j.At, "Cannot be updated in steps", "Job %s has max_parallel: services and system jobs are updated so many at a time, and Nomad refuses that of a %s job; leave max_parallel out.", j.Name, job.Type)
	case p != nil && (job.Type != rpc.JobTypeBatch && job.Type != rpc.JobTypeSysBatch || p.Every < time.Second):
		return b.def.Errorf(j.At, "Cannot be periodic", "Job %s, a %s job, launches every %v: batch and sysbatch jobs can, once a second at most.", j.Name, job.Type, p.Every)
	}
	return nil
}

// definitionRemedy says what a definition can be without an agent.
const definitionRemedy = "name a file that holds what `nomad job run -output FILE` prints"

// readJob reads a definition in Nomad's JSON. A jobspec in HCL is parsed by the agent that
// NOMAD_ADDR names.
func (s Spec) readJob(path string) ([]byte, error) {
	text, err := s.readFile(path)
	_, parsed := s.Files[path]
	if err != nil || parsed || !slices.Contains([]string{".nomad", ".hcl"}, strings.ToLower(filepath.Ext(path))) {
		return text, err
	}
	if os.Getenv("NOMAD_ADDR") == "" {
		return nil, errors.New("a jobspec in HCL is parsed by a Nomad agent: set NOMAD_ADDR to the address of one, or " + definitionRemedy)
	}
	cfg := api.DefaultConfig()
	job := &api.Job{}
	client, err := realcluster.NewClient(*cfg)
	if err == nil {
		defer client.Close()
		job, err = client.Jobs().ParseHCLOpts(&api.JobsParseRequest{JobHCL: string(text)})
	}
	if answer, ok := errors.AsType[api.UnexpectedResponseError](err); ok && answer.HasBody() {
		err = errors.New(strings.ReplaceAll(strings.TrimSpace(answer.Body()), "input.hcl:", filepath.Base(path)+":"))
	}
	if err != nil {
		return nil, fmt.Errorf("the agent at %s cannot parse it: %s", redact.Passwords(cfg.Address), redact.Passwords(err.Error()))
	}
	return json.Marshal(job)
}

// defined returns the job that the definition of a block stands for. What of it is not modelled
// is a warning of the run.
func (b *builder) defined(j language.Job) (*rpc.Job, error) {
	text, err := b.readJob(j.Spec)
	if err != nil {
		return nil, err
	}
	def, err := apitypes.ReadJob(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, definitionRemedy)
	}
	def.ID = &j.Name
	if j.Type != "" {
		def.Type = &j.Type
	}
	job, warnings, err := apitypes.ToJob(def)
	if err != nil {
		return nil, fmt.Errorf("%s", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	if job.Namespace != rpc.DefaultNamespace {
		warnings = append(warnings, fmt.Sprintf("job %s: there are no namespaces, so that it is not in %s", j.Name, job.Namespace))
	}
	for _, w := range warnings {
		b.warnings = append(b.warnings, fmt.Sprintf("spec %s: %s", j.Spec, w))
	}
	job.Namespace, job.Definition, job.Stop = rpc.DefaultNamespace, nil, false
	return job, nil
}
