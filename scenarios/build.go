package scenarios

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/scenarios/internal/actions"
	_ "github.com/simctl/simctl/scenarios/internal/actions/clients" // declare their keywords
	_ "github.com/simctl/simctl/scenarios/internal/actions/faults"
	_ "github.com/simctl/simctl/scenarios/internal/actions/operations"
	"github.com/simctl/simctl/scenarios/internal/behaviours"
	"github.com/simctl/simctl/scenarios/internal/conditions"
	"github.com/simctl/simctl/scenarios/internal/run"
	"github.com/simctl/simctl/scenarios/language"
)

// builder turns what a file says into a run.Scenario.
type builder struct {
	def      *language.Definition
	cost     *Cost
	profiles profiles
	// setting is what events depend on beside their blocks, before what came before the event
	// that is built.
	setting actions.Setting
	before  actions.History
	// read reads a file that the scenario names, and readJob one that defines a job.
	read, readJob readFunc
	// warnings name what of the jobs' definitions is not modelled.
	warnings []string
}

// vocabulary returns the keywords, and the costs of the class that the file names unless
// override is set. It sets cost to the class that counts.
func vocabulary(override *Cost, cost **Cost, read readFunc) language.Vocabulary {
	return language.Vocabulary{
		Cluster: &defaultCluster,
		Costs: func(class string) (any, error) {
			c := override
			if c == nil {
				var err error
				if c, err = loadCost(class, read); err != nil {
					return nil, classError(class, err)
				}
			}
			*cost = c
			return &c.Costs, nil
		},
		Events:     actions.Keywords.Prototypes(),
		Conditions: conditions.Keywords.Prototypes(),
		Behaviours: behaviours.Kinds.Prototypes(),
	}
}

// classError words an error of loadCost about a class that the file names.
func classError(class string, err error) error {
	bad, ok := errors.AsType[*InputError](err)
	if !ok {
		return err
	}
	if near := language.Suggest(class, CostNames()); near != "" {
		return fmt.Errorf("%q is none, but %q is", class, near)
	}
	return fmt.Errorf("%q: %s", class, strings.TrimSuffix(bad.Allowed, "."))
}

// Bounds of a run.
const (
	maxNodes = 1_000_000 // without force
	maxJobs  = 100_000
)

// build turns the definition into a run.Scenario. The error is a *language.Error that shows the
// place.
func (c *Compiled) build(read, readJob readFunc) error {
	words := c.def.Cluster.Args.(*clusterWords)
	if err := words.check(); err != nil {
		return c.def.Errorf(c.def.Cluster.At, "Impossible cluster", "%v.", err)
	}
	c.profiles = profiles{words.Brokers, words.Evaluations}
	b := &builder{def: c.def, cost: c.cost, profiles: c.profiles, read: read, readJob: readJob}
	sc := &c.scenario
	sc.Cluster, sc.TimeScale, sc.LogsOnDisk = words.config(c.cost.Costs), c.spec.TimeScale, c.spec.RaftStore == RaftStoreBoltDB
	if err := b.checkBrokers(); err != nil {
		return err
	}
	var err error
	if sc.Fleet, err = b.fleet(c.spec); err != nil {
		return err
	}
	sc.Cluster.ClientConnections = c.def.Fleet.Connections
	sc.Cluster.Seed, sc.Fleet.Seed = c.spec.Seed, c.spec.Seed
	sc.Cluster.IndependentReplicas, sc.Thorough = c.spec.IndependentReplicas, c.spec.Thorough
	if err := b.makeJobs(); err != nil {
		return err
	}
	sc.Warnings = b.warnings
	b.setting.Groups, b.setting.Reports = behaviours.Groups(sc.Fleet), sc.Fleet.ReportAllocs
	if err := b.makeBehaviours(b.setting.Groups); err != nil {
		return err
	}
	for _, d := range c.def.Behaviours {
		c.behaviours = append(c.behaviours, b.setting.Behaviours[d.Name])
	}
	for _, p := range c.def.Phases {
		phase, err := b.phase(p, words.Servers)
		if err != nil {
			return err
		}
		sc.Phases = append(sc.Phases, phase)
	}
	if err := b.checkSchedulers(words.Schedulers, sc.Phases); err != nil {
		return err
	}
	c.thresholds, err = b.makeThresholds(c.FigureVocabulary())
	return err
}

// checkSchedulers refuses jobs in a cluster that never has schedulers.
func (b *builder) checkSchedulers(from int, phases []run.Phase) error {
	on := from > 0
	for _, p := range phases {
		for _, e := range p.Events {
			a, ok := e.Action.(actions.Enabler)
			on = on || ok && a.EnablesSchedulers()
		}
	}
	if on || len(b.def.Jobs) == 0 {
		return nil
	}
	return b.def.Errorf(b.def.Jobs[0].At, "No schedulers", "Nothing would ever place job %s: the servers have no scheduler workers. "+
		"Give them some, cluster { schedulers = 2 }, or turn them on by an event \"schedulers\".", b.def.Jobs[0].Name)
}

// makeThresholds returns the demands on the Results.
func (b *builder) makeThresholds(vocabulary *metrics.Vocabulary) ([]metrics.Threshold, error) {
	var out []metrics.Threshold
	for _, t := range b.def.Thresholds {
		if err := vocabulary.CheckPath(t.Metric.Text); err != nil {
			u := err.(*metrics.PathError)
			if near := language.Suggest(u.Name, u.Known); near != "" {
				return nil, b.def.Errorf(t.Metric.At, "Unknown metric", "There is no %s %q. Did you mean %q?", u.What, u.Name, near)
			}
			return nil, b.def.Errorf(t.Metric.At, "Unknown metric", "%v.", err)
		}
		for _, name := range []language.Name{t.Broker, t.MaxRatioOf} {
			if name.Text == "" {
				continue
			}
			if err := b.broker(name); err != nil {
				return nil, err
			}
		}
		one := metrics.Threshold{
			Name: t.Name, Metric: t.Metric.Text, Broker: t.Broker.Text, Max: t.Max, Min: t.Min,
			MaxRatio: t.MaxRatio, RatioOf: t.MaxRatioOf.Text, Tolerance: t.Tolerance,
		}
		switch {
		case t.MaxRatioOf.Text != "" && t.MaxRatio == nil:
			same := 1.0
			one.MaxRatio = &same
		case t.MaxRatioOf.Text == "" && t.MaxRatio != nil:
			return nil, b.def.Errorf(t.At, "Missing max_ratio_of", "max_ratio needs a broker to compare with: max_ratio_of.")
		}
		switch {
		case one.Max == nil && one.Min == nil && one.MaxRatio == nil && one.Tolerance == nil:
			return nil, b.def.Errorf(t.At, "Nothing demanded", "The threshold demands nothing: say max, min, max_ratio_of or tolerance.")
		case t.MaxRatioOf.Text != "" && t.MaxRatioOf.Text == t.Broker.Text:
			return nil, b.def.Errorf(t.At, "Nothing demanded", "The figure of %s is compared with itself: name another broker in broker or max_ratio_of.", t.Broker.Text)
		case t.Min != nil && t.Max != nil && *t.Min > *t.Max:
			return nil, b.def.Errorf(t.At, "Impossible threshold", "No figure is %g or more and %g or less: min must be max at most.", *t.Min, *t.Max)
		}
		out = append(out, one)
	}
	return out, nil
}

func (b *builder) phase(p language.Phase, servers int) (run.Phase, error) {
	out := run.Phase{Name: p.Name, Stall: p.Stall, Timeout: p.Timeout}
	timeout := cmp.Or(p.Timeout, run.DefaultTimeout)
	for _, e := range p.Events {
		action, err := b.action(e, servers)
		if err == nil && e.When > timeout {
			err = fmt.Errorf("it comes after %v, and the phase fails after %v: give that a greater timeout, or the event an earlier time", e.When, timeout)
		}
		if err != nil {
			return out, b.def.Errorf(e.At, "Impossible event", "%v.", err)
		}
		out.Events = append(out.Events, run.Event{At: e.When, Action: action})
	}
	var err error
	if out.Until, err = conditions.Keywords.Make(p.Until.Keyword, p.Until.Args, struct{}{}); err != nil {
		return out, b.def.Errorf(p.Until.At, "Impossible condition", "%v.", err)
	}
	if hold := out.Until.Hold(); hold > timeout {
		return out, b.def.Errorf(p.Until.At, "Impossible condition", "It must hold for %v, and the phase fails after %v: give it a greater timeout, or a shorter for.", hold, timeout)
	}
	return out, nil
}

// action returns what an event does, or why it cannot.
func (b *builder) action(e language.Event, servers int) (actions.Action, error) {
	action, err := actions.Keywords.Make(e.Keyword, e.Args, &b.setting)
	if err != nil {
		return nil, err
	}
	if c, ok := action.(actions.Checker); ok {
		if err := c.Check(servers); err != nil {
			return nil, err
		}
	}
	if f, ok := action.(actions.Ordered); ok {
		return action, f.Follow(&b.before)
	}
	return action, nil
}

// makeBehaviours makes the behaviours of the file. An event must begin each of them.
func (b *builder) makeBehaviours(groups []behaviours.Group) error {
	begun := map[string]bool{}
	for _, p := range b.def.Phases {
		for _, e := range p.Events {
			if w, ok := e.Args.(actions.Beginner); ok {
				begun[w.Begins()] = true
			}
		}
	}
	b.setting.Behaviours = map[string]*behaviours.Behaviour{}
	for _, d := range b.def.Behaviours {
		made, err := behaviours.Kinds.Make(d.Kind, d.Args, behaviours.Setting{Groups: groups, Read: b.read})
		if err != nil {
			return b.def.Errorf(d.At, "Impossible behaviour", "%v.", err)
		}
		if !begun[d.Name] {
			return b.def.Errorf(d.At, "Idle behaviour", "No event begins %q: add event \"begin\" { behaviour = %q } to a phase.", d.Name, d.Name)
		}
		made.Name = d.Name
		b.setting.Behaviours[d.Name] = made
	}
	return nil
}
