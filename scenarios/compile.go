package scenarios

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/english"
	"github.com/simctl/simctl/scenarios/internal/run"
)

// Compiled is what a Spec stands for. Ask it rather than the Spec: no text is parsed twice. It
// is immutable and safe for concurrent use.
type Compiled struct {
	Outline
	profiles   profiles
	thresholds []metrics.Threshold
	scenario   run.Scenario // complete once there is a broker
}

// Compile works out what a Spec stands for, and reads the files that the Spec names. A Spec
// without a broker compiles, too; Under gives it one before it runs. The error is an
// *InputError for the first value that cannot run, and a *language.Error for a scenario file
// that cannot.
func Compile(s Spec) (*Compiled, error) {
	if err := s.checkClock(); err != nil {
		return nil, err
	}
	o, err := OutlineOf(s)
	if err != nil {
		return nil, err
	}
	c := &Compiled{Outline: *o}
	c.spec.Files = nil
	if err := c.build(keeping(&c.spec.Files, s.readFile)); err != nil {
		return nil, err
	}
	if s.Broker == "" {
		return c, nil
	}
	return c.Under(s.Broker)
}

// Under returns the same run under another broker. The error is an *InputError.
func (c *Compiled) Under(broker string) (*Compiled, error) {
	p, err := c.profiles.of(broker)
	if err != nil {
		return nil, &InputError{Input: InputBroker, Value: broker, Allowed: err.Error()}
	}
	one := *c
	one.spec.Broker = broker
	p.apply(&one.scenario.Cluster)
	one.scenario.Run = one.label()
	return &one, nil
}

// label describes the run in its Result. The variables that most runs leave alone are in it
// only if this one does not.
func (c *Compiled) label() metrics.Run {
	s := c.spec
	params := map[string]any{}
	for _, v := range c.def.Variables {
		if !v.Optional || !v.IsDefault() {
			params[v.Name] = v.Value
		}
	}
	if s.TimeScale != 0 {
		params["time_scale"] = s.TimeScale
	}
	if s.RaftStore == RaftStoreBoltDB {
		params["raft_store"] = s.RaftStore
	}
	params["report_allocations"] = c.scenario.Fleet.ReportAllocs
	params["cost"] = c.cost.Class
	c.profiles.params(s.Broker, params)
	return metrics.Run{
		Scenario: s.Scenario, Broker: s.Broker, Seed: s.Seed, Clock: cmp.Or(s.Clock, ClockVirtual),
		Params: params, Rerun: s.commandLine(c.def.Variables), CostModel: c.cost.model(),
	}
}

// Spec returns the Spec with the texts of all files that it needs: a run of it reads no file.
func (c *Compiled) Spec() Spec { return c.spec }

// Thresholds returns what the scenario demands of its Results.
func (c *Compiled) Thresholds() []metrics.Threshold { return slices.Clone(c.thresholds) }

// Summary says in one line what the Spec stands for.
func (c *Compiled) Summary() string {
	jobs := 0
	for _, p := range c.scenario.Phases {
		for _, e := range p.Events {
			if a, ok := e.Action.(actions.Registration); ok {
				jobs += a.Registers()
			}
		}
	}
	blocks := ""
	for _, w := range c.profiles.blocks {
		blocks += ", broker " + w.Name
	}
	return fmt.Sprintf("%s; %s, %s, %s, %s%s", c.def.Title, english.Plural(c.scenario.Cluster.Servers, "server"),
		english.Plural(c.scenario.Fleet.Nodes, "client"), english.Plural(jobs, "job"), english.Plural(len(c.def.Phases), "phase"), blocks)
}
