package scenarios

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/behaviours"
	"github.com/simctl/simctl/scenarios/internal/conditions"
	"github.com/simctl/simctl/scenarios/internal/english"
	"github.com/simctl/simctl/scenarios/internal/run"
	"github.com/simctl/simctl/scenarios/language"
)

// Outline is what a scenario says of itself with the values of a Spec. It is the same for
// every broker, and does not say that such a run is possible.
type Outline struct {
	spec Spec // with the texts of its cost files
	def  *language.Definition
	cost *Cost
}

// openText is language.Open, and openOwn language.OpenOwn; tests count their calls.
var (
	openText = language.Open
	openOwn  = language.OpenOwn
)

// open reads the scenario's text as far as it does not depend on variables.
func (s Spec) open() (*language.File, error) {
	if s.Source != "" {
		return openText(s.File, []byte(s.Source))
	}
	file, ok := builtin(s.Scenario)
	if !ok {
		return nil, &InputError{Input: InputScenario, Value: s.Scenario, Allowed: "it must be one of " + strings.Join(Names(), ", ")}
	}
	return file()
}

// Variables returns the scenario's variables, in the order of its text, with the values of
// the Spec, each within its own bounds. Compile checks whether they go together.
func (s Spec) Variables() ([]language.Variable, error) {
	file, err := s.open()
	if err != nil {
		return nil, err
	}
	vars, err := file.WithValues(s.Vars)
	return vars, s.inputError(err)
}

// inputError makes the error of a variable's value one of the Spec. The text of a built-in scenario
// is correct: an error in it is one of the values, and no user has written the line.
func (s Spec) inputError(err error) error {
	if e, ok := errors.AsType[*language.Error](err); ok && s.Source == "" {
		return &InputError{Value: s.Scenario, Allowed: strings.Join(strings.Fields(e.Problems()[0].Detail), " ")}
	}
	if v, ok := errors.AsType[*language.VariableError](err); ok {
		return &InputError{Input: v.Name, Value: v.Value, Allowed: v.Allowed, OfFile: s.Source != ""}
	}
	return err
}

// OutlineOf returns the outline of a Spec. The error is an *InputError for the first value that
// a variable cannot have, and a *language.Error for a file with an error.
func OutlineOf(s Spec) (*Outline, error) {
	file, err := s.open()
	if err != nil {
		return nil, err
	}
	o := &Outline{spec: s}
	o.spec.CostFiles = nil
	readCost := keeping(&o.spec.CostFiles, s.readCost)
	var override *Cost
	if s.Cost != "" {
		if override, err = loadCost(s.Cost, readCost); err != nil {
			return nil, err
		}
	}
	o.def, err = file.Define(vocabulary(override, &o.cost, readCost), s.Vars)
	if err != nil {
		return nil, s.inputError(err)
	}
	return o, setCores(o.def, o.cost)
}

// Variables returns the scenario's variables, in the order of its text, with the values of the
// Spec.
func (o *Outline) Variables() []language.Variable { return slices.Clone(o.def.Variables) }

// FigureVocabulary returns what paths of figures of the runs can name.
func (o *Outline) FigureVocabulary() *metrics.Vocabulary {
	return &metrics.Vocabulary{
		Phases: o.PhaseNames(), EntryTypes: cluster.EntryTypes(), EvalStatuses: broker.Statuses,
	}
}

// PhaseNames returns the names of the phases, in their order.
func (o *Outline) PhaseNames() []string {
	var names []string
	for _, p := range o.def.Phases {
		names = append(names, p.Name)
	}
	return names
}

// Machines returns the class of machines that the run is charged by.
func (o *Outline) Machines() *Cost { return o.cost }

// Brokers returns the brokers that the scenario compares.
func (o *Outline) Brokers() []string { return compared(o.def) }

// Compiled is what a Spec stands for. Ask it rather than the Spec: no text is parsed twice. It
// is immutable and safe for concurrent use.
type Compiled struct {
	Outline
	profiles   profiles
	thresholds []metrics.Threshold
	scenario   run.Scenario // complete once there is a broker
	behaviours []*behaviours.Behaviour
	data       int // bytes of live data that it is expected to have at most; zero: unknown
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
	if err := c.build(keeping(&c.spec.Files, s.readFile), keeping(&c.spec.Files, s.readJob)); err != nil {
		return nil, s.inputError(err)
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
	p.apply(&one.scenario)
	one.scenario.Run = one.label()
	return &one, nil
}

// Within returns the same run, which stops when it reaches one of the limits.
func (c *Compiled) Within(l Limits) *Compiled {
	one := *c
	one.scenario.Limits = l
	return &one
}

// Expecting returns the same run, told that it will have so many bytes of live data at most. That decides how much memory
// garbage may take, and not what the run does.
func (c *Compiled) Expecting(data float64) *Compiled {
	one := *c
	one.data = int(data)
	return &one
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
		Params: params, Nodes: c.scenario.Fleet.Nodes, Rerun: s.commandLine(c.def.Variables), CostModel: c.cost.model(),
	}
}

// Unlike returns the setting of the Spec that a run does not have, and its two values as JSON: the seed, or
// a variable. The name is empty if there is none.
func (c *Compiled) Unlike(r metrics.Run) (name, ours, theirs string) {
	mine := c.label()
	if mine.Seed != r.Seed {
		return "seed", strconv.FormatInt(mine.Seed, 10), strconv.FormatInt(r.Seed, 10)
	}
	for _, name := range slices.Sorted(maps.Keys(c.spec.Vars)) {
		ours, _ := json.Marshal(mine.Params[name]) // files have such values
		theirs, _ := json.Marshal(r.Params[name])
		if !bytes.Equal(ours, theirs) {
			return name, string(ours), string(theirs)
		}
	}
	return "", "", ""
}

// Spec returns the Spec with the texts of all files that it needs: a run of it reads no file.
func (c *Compiled) Spec() Spec { return c.spec }

// Thresholds returns what the scenario demands of its Results.
func (c *Compiled) Thresholds() []metrics.Threshold { return slices.Clone(c.thresholds) }

// Evaluations returns the most evaluations that a phase waits for; zero if none waits for any.
func (c *Compiled) Evaluations() (most int) {
	for _, p := range c.scenario.Phases {
		if until, ok := p.Until.(conditions.EvalsCreated); ok {
			most = max(most, until.AtLeast)
		}
	}
	return most
}

// Warnings says what of the scenario its runs leave out.
func (c *Compiled) Warnings() []string { return slices.Clone(c.scenario.Warnings) }

// Summary says in one line what the Spec stands for.
func (c *Compiled) Summary() string {
	jobs := 0
	for _, p := range c.scenario.Phases {
		for _, e := range p.Events {
			if a, ok := e.Action.(actions.Registration); ok {
				jobs += len(a.Registers())
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
