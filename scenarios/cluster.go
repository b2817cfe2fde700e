package scenarios

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/scenarios/designs"
	"github.com/simctl/simctl/scenarios/internal/run"
	"github.com/simctl/simctl/scenarios/language"
)

// clusterWords is a cluster block.
type clusterWords struct {
	Servers             int `lang:"min=1,max=15"` // as many as the cluster's log writer keeps apart
	Schedulers          int `lang:"max=1024"`
	Cores               int `lang:"max=1024"` // 0 = as the costs say
	BatchUpdateInterval time.Duration
	IdentityTTL         time.Duration
	Heartbeat           cluster.HeartbeatConfig
	Reaper              cluster.ReaperConfig
	Evaluations         cluster.EvalConfig
	Raft                cluster.RaftConfig
	Garbage             cluster.GCConfig
	PlanRejection       cluster.PlanRejectionConfig
	// Brokers are those that differ in more than their policy.
	Brokers []brokerWord `lang:"name=broker"`
	// DatacenterFilter leaves out the evaluations of system jobs that do not run in a
	// changed node's datacenter.
	DatacenterFilter bool
	// PauseEndsFailedReaper is a defect of Nomad's.
	PauseEndsFailedReaper bool
}

// noSnapshots is a threshold of Raft snapshots that no run reaches.
const noSnapshots = 1 << 62

// defaultCluster has the defaults of a cluster. They are Nomad's, but for the threshold of Raft
// snapshots: a snapshot changes no figure and costs no virtual time, unless the costs say so, but
// every 8192 entries it would take a second of real time on each server.
var defaultCluster = func() clusterWords {
	c := cluster.Config{Raft: cluster.RaftConfig{SnapshotThreshold: noSnapshots}}.WithDefaults()
	return clusterWords{
		Servers: c.Servers, BatchUpdateInterval: c.BatchUpdateInterval, Heartbeat: c.Heartbeat, Reaper: c.Reaper,
		Evaluations: c.Eval, Raft: c.Raft, Garbage: c.GC, PlanRejection: c.PlanRejection, DatacenterFilter: true,
	}
}()

// check returns an error about what no cluster can have. A zero would count as the default.
func (w *clusterWords) check() error {
	for block, fields := range language.Fields(reflect.ValueOf(w).Elem()) {
		if fields.Kind() != reflect.Struct {
			continue
		}
		for name, value := range language.Fields(fields) {
			if value.IsZero() && value.Kind() != reflect.Bool {
				return fmt.Errorf("%s of %s is 0: it must be above 0", name, block)
			}
		}
	}
	for _, one := range []struct {
		name         string
		value, least time.Duration
	}{
		{"batch_update_interval", w.BatchUpdateInterval, 1},
		{"interval of reaper", w.Reaper.Interval, time.Millisecond},
		{"interval of garbage", w.Garbage.Interval, 100 * time.Millisecond},
		{"token_interval of garbage", w.Garbage.TokenInterval, 100 * time.Millisecond},
		{"commit_timeout of raft", w.Raft.CommitTimeout, time.Millisecond}, // this and what follows are Raft's own demands
		{"snapshot_interval of raft", w.Raft.SnapshotInterval, 5 * time.Millisecond},
		{"leader_lease_timeout of raft", w.Raft.LeaderLeaseTimeout, 5 * time.Millisecond},
		{"heartbeat_timeout of raft", w.Raft.HeartbeatTimeout, w.Raft.LeaderLeaseTimeout},
		{"election_timeout of raft", w.Raft.ElectionTimeout, w.Raft.HeartbeatTimeout},
	} {
		if one.value < one.least {
			return fmt.Errorf("%s is %v: it must be %v at least", one.name, one.value, one.least)
		}
	}
	return nil
}

// config returns the cluster that the words describe, less what its broker decides.
func (w *clusterWords) config(costs cluster.Costs) cluster.Config {
	raft := w.Raft
	if raft.SnapshotThreshold == noSnapshots && costs.Raft.PerRow > 0 {
		raft.SnapshotThreshold = 0 // Nomad's
	}
	return cluster.Config{
		Servers: w.Servers, NumSchedulers: w.Schedulers, BatchUpdateInterval: w.BatchUpdateInterval, IdentityTTL: w.IdentityTTL,
		Heartbeat: w.Heartbeat, Reaper: w.Reaper, Raft: raft, GC: w.Garbage, PlanRejection: w.PlanRejection,
		DatacenterFilterOff: !w.DatacenterFilter, PauseEndsFailedReaper: w.PauseEndsFailedReaper, Costs: costs,
	}
}

// brokerWord is a broker block of a cluster: how the servers differ in the runs of that name.
type brokerWord struct {
	Name    string `lang:"label=broker"`
	Policy  string // empty = Name if that is a policy, or else the release's
	Release string // empty = the one that brought the policy
	// A field that is not zero replaces that of the block evaluations.
	cluster.EvalConfig
	At language.Range
}

// profile is how the servers of a run differ from those of a run under another broker.
type profile struct {
	policy  broker.Policy
	release cluster.Version
	designs []designs.Design
	evals   cluster.EvalConfig
}

// policyName returns the name of the policy, with the words of the designs.
func (p profile) policyName() string {
	name := p.policy.String()
	for _, d := range p.designs {
		name += "+" + d.Word
	}
	return name
}

// profile returns what the block stands for, with evals where it says nothing.
func (w brokerWord) profile(evals cluster.EvalConfig) (profile, error) {
	_, err := profileOf(w.Name, evals)
	namesPolicy := err == nil
	_, namesRelease := releaseNamed(w.Name)
	release, known := releaseNamed(w.Release)
	switch {
	case namesRelease:
		return profile{}, errors.New("its name is that of a release: give it another name")
	case w.Release != "" && !known:
		return profile{}, fmt.Errorf("release %q: %w", w.Release, CheckRelease(w.Release))
	case strings.Contains(w.Name, ","):
		return profile{}, errors.New("its name holds a comma, which divides names on command lines")
	case namesPolicy && w.Policy != "" && w.Policy != w.Name:
		return profile{}, fmt.Errorf("its name is that of a policy, which is not %s: give it another name", w.Policy)
	case w.Policy != "":
	case namesPolicy:
		w.Policy = w.Name
	case w.Release == "":
		return profile{}, errors.New("its name is no policy: say which one it has (policy), or which release of Nomad the servers are of (release)")
	default:
		w.Policy = policyOf(release).String()
	}
	p, err := profileOf(w.Policy, evals)
	if near := language.Suggest(w.Policy, broker.PolicyNames()); err != nil && near != "" {
		return p, fmt.Errorf("%q is no policy, but %q is", w.Policy, near)
	}
	if err != nil {
		return p, err
	}
	if w.Release != "" {
		p.release = release
	}
	to, from := reflect.ValueOf(&p.evals).Elem(), reflect.ValueOf(w.EvalConfig)
	for i := range from.NumField() {
		if f := from.Field(i); !f.IsZero() {
			to.Field(i).Set(f)
		}
	}
	return p, nil
}

// profileOf returns the profile of a release, or of a policy without a block: the servers are
// of the release that brought the policy. Words of designs may follow.
func profileOf(name string, evals cluster.EvalConfig) (profile, error) {
	base, with := designs.Split(name)
	if v, ok := releaseNamed(base); ok {
		return profile{policy: policyOf(v), release: v, designs: with, evals: evals}, nil
	}
	p, err := broker.PolicyByName(base)
	if err != nil {
		return profile{}, err
	}
	return profile{policy: p, release: releaseOf(p), designs: with, evals: evals}, nil
}

// apply gives cluster and fleet the profile.
func (p profile) apply(sc *run.Scenario) {
	sc.Cluster.Policy, sc.Cluster.Eval, sc.Cluster.Habits = p.policy, p.evals, cluster.HabitsOf(p.release)
	sc.Fleet.AllocSyncTypical = sc.Cluster.Habits.TypicalReports
	sc.Fleet.RetriesShorten = !sc.Cluster.Habits.WatchesRecover
	sc.Fleet.IgnoresStale = sc.Cluster.Habits.StaleIgnored
	for _, d := range p.designs {
		d.Apply(&sc.Cluster.Design)
	}
}

// profiles are the brokers of a scenario.
type profiles struct {
	blocks []brokerWord
	evals  cluster.EvalConfig // of a broker without a block
}

// of returns the profile of that name: a block's, or a policy's. The error says what names
// there are.
func (ps profiles) of(name string) (profile, error) {
	for _, w := range ps.blocks {
		if w.Name == name {
			return w.profile(ps.evals)
		}
	}
	p, err := profileOf(name, ps.evals)
	switch {
	case err == nil:
		return p, nil
	case badWord(name, ps.evals) != nil:
		return p, badWord(name, ps.evals)
	case strings.HasPrefix(strings.TrimLeft(name, "0123456789"), "."): // such as 1.4.1: the other names are no help
		return p, CheckRelease(name)
	case len(ps.blocks) == 0:
		return p, errors.New("it must be " + brokerSyntax())
	}
	return p, fmt.Errorf("it must be one of the scenario's, %s, or %s", strings.Join(ps.names(), ", "), brokerSyntax())
}

// badWord says which of the words after the plus signs of a name is wrong, if all that is before them is a
// broker.
func badWord(name string, evals cluster.EvalConfig) error {
	broker, rest, changed := strings.Cut(name, "+")
	if _, err := profileOf(broker, evals); !changed || err != nil {
		return nil
	}
	for word := range strings.SplitSeq(rest, "+") {
		if _, err := profileOf(broker+"+"+word, evals); err != nil {
			return fmt.Errorf("%s has no design or change %q: simctl designs lists designs, and docs/policies.md changes", broker, word)
		}
	}
	return errors.New("two of its designs and changes are the same or exclude each other: leave one of them out")
}

func (ps profiles) names() []string {
	var names []string
	for _, w := range ps.blocks {
		names = append(names, w.Name)
	}
	return names
}

// params adds the settings of a broker to those of a run, if it is a release or any broker has
// a block.
func (ps profiles) params(name string, into map[string]any) {
	p, err := ps.of(name)
	if _, released := releaseNamed(name); err != nil || len(ps.blocks) == 0 && !released {
		return
	}
	into["broker_policy"], into["broker_release"] = p.policyName(), p.release.String()
	for figure, value := range language.Fields(reflect.ValueOf(p.evals)) {
		if text, ok := value.Interface().(fmt.Stringer); ok {
			into["broker_"+figure] = text.String()
		} else {
			into["broker_"+figure] = value.Interface()
		}
	}
}

// checkBrokers checks the blocks, and the list of brokers to compare.
func (b *builder) checkBrokers() error {
	for _, w := range b.profiles.blocks {
		if _, err := b.profiles.of(w.Name); err != nil {
			return b.def.Errorf(w.At, "Impossible broker", "Broker %q: %v.", w.Name, err)
		}
	}
	for i, name := range b.def.Brokers {
		if err := b.broker(name); err != nil {
			return err
		}
		if slices.ContainsFunc(b.def.Brokers[:i], func(o language.Name) bool { return o.Text == name.Text }) {
			return b.def.Errorf(name.At, "Duplicate broker", "The list has the broker %q twice.", name.Text)
		}
	}
	return nil
}

// broker returns an error unless there is a broker of that name.
func (b *builder) broker(name language.Name) error {
	_, err := b.profiles.of(name.Text)
	if err == nil {
		return nil
	}
	if near := language.Suggest(name.Text, append(b.profiles.names(), BrokerNames()...)); near != "" {
		return b.def.Errorf(name.At, "Unknown broker", "There is no broker %q. Did you mean %q?", name.Text, near)
	}
	return b.def.Errorf(name.At, "Unknown broker", "There is no broker %q: %v.", name.Text, err)
}

// compared returns the brokers that a file compares.
func compared(def *language.Definition) []string {
	var names []string
	for _, name := range def.Brokers {
		names = append(names, name.Text)
	}
	if names != nil {
		return names
	}
	names = []string{broker.Legacy().String(), broker.Shedding().String()}
	for _, w := range def.Cluster.Args.(*clusterWords).Brokers {
		if !slices.Contains(names, w.Name) {
			names = append(names, w.Name)
		}
	}
	return names
}

// ServersUnder returns the settings of servers that have a policy's broker, and the release of
// Nomad that brought it. The error says what the name must be.
func ServersUnder(policy string) (cfg cluster.Config, release string, err error) {
	p, err := profiles{}.of(policy)
	if err != nil {
		return cfg, "", err
	}
	var sc run.Scenario
	p.apply(&sc)
	return sc.Cluster, p.release.String(), nil
}
