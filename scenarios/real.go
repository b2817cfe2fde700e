package scenarios

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/nomad/api"
	"golang.org/x/mod/semver"

	"github.com/simctl/simctl/internal/nomadproc"
	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/nodesim/remote"
	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/actions/operations"
	"github.com/simctl/simctl/scenarios/internal/conditions"
	"github.com/simctl/simctl/scenarios/internal/realcluster"
	"github.com/simctl/simctl/scenarios/internal/run"
	"github.com/simctl/simctl/scenarios/language"
)

// Real is a cluster of real Nomad servers that runs go on in: servers that a run starts from a
// program, and ends, or a cluster elsewhere.
type Real struct {
	Name    string // of its runs beside others, in place of a broker: nomad-1.4.2
	Version string
	Bin     string
	Dir     string // below which the servers store what they do, and runs what they change elsewhere
	// Say is told what people should know while the run goes on.
	Say func(string)

	at    *Elsewhere // nil if a run starts the servers
	about *realcluster.About
}

// ErrReal is wrapped by errors about a Real that cannot be.
var ErrReal = errors.New("no real cluster")

// Programs returns a cluster for each Nomad program. Two of one version have numbers in their
// names. The error wraps ErrReal.
func Programs(ctx context.Context, bins []string, dir string) ([]Real, error) {
	var all []Real
	for _, bin := range bins {
		version, err := nomadproc.VersionOf(ctx, bin)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrReal, err)
		}
		r := Real{Name: "nomad-" + version, Version: version, Bin: bin, Dir: dir}
		same := 1
		for slices.ContainsFunc(all, func(o Real) bool { return o.Name == r.Name }) {
			same++
			r.Name = fmt.Sprintf("nomad-%s-%d", version, same)
		}
		all = append(all, r)
	}
	return all, nil
}

// target is what actions can ask of the cluster.
func (r Real) target() actions.Target {
	t := actions.Target{
		Name: "Nomad " + r.Version, Ours: r.at == nil, Foreign: r.at != nil && r.at.AllowForeign,
		DeletesByFilter: semver.Compare("v"+r.Version, "v1.4.3") >= 0, // #15117
	}
	if semver.Compare("v"+r.Version, "v1.10.0") >= 0 { // #25441
		t.MaxSchedulers = runtime.NumCPU()
		if r.at != nil {
			t.MaxSchedulers = r.about.Cores
		}
	}
	return t
}

// CheckReal returns an error unless the run can go on in the cluster: a *language.Error that shows
// the first event that no such cluster can be told, or one that wraps ErrReal.
func (c *Compiled) CheckReal(r Real) error {
	if err := c.checkRealCluster(); err != nil {
		return err
	}
	if r.at != nil {
		if err := c.checkElsewhere(r.about); err != nil {
			return err
		}
	}
	begin := operations.SetSchedulers{PerServer: c.def.Cluster.Args.(*clusterWords).Schedulers}
	if err := begin.On(r.target()); err != nil {
		return fmt.Errorf("%w: the scenario's cluster begins with %w", ErrReal, err)
	}
	for i, p := range c.scenario.Phases {
		for j, e := range p.Events {
			if err := actions.On(e.Action, r.target()); err != nil {
				at := c.def.Phases[i].Events[j]
				return c.def.Errorf(at.At, "Impossible event", "Event %q of phase %s: %v.", at.Keyword, p.Name, err)
			}
		}
		if _, ok := p.Until.(conditions.Retrospective); ok {
			at := c.def.Phases[i].Until
			return c.def.Errorf(at.At, "Impossible condition", "Condition %q of phase %s: real servers do not tell how long each evaluation took.", at.Keyword, p.Name)
		}
	}
	return nil
}

// checkRealCluster returns an error if the scenario sets what real servers cannot be told.
func (c *Compiled) checkRealCluster() error {
	if s := c.spec; s.TimeScale != 0 && s.TimeScale != 1 {
		return &InputError{Input: InputTimeScale, Value: formatFloat(s.TimeScale), Allowed: "real servers know no other time than the real one: leave it out"}
	}
	words := c.def.Cluster.Args.(*clusterWords)
	if words.Servers > nomadproc.MaxServers {
		return fmt.Errorf("%w: the scenario has %d servers, and there can be %d real ones on loopback", ErrReal, words.Servers, nomadproc.MaxServers)
	}
	plain := defaultCluster
	// A run can tell real servers these, or they are not the servers' affair.
	plain.Servers, plain.Schedulers, plain.Cores, plain.Brokers = words.Servers, words.Schedulers, words.Cores, words.Brokers
	plain.Heartbeat.MinTTL, plain.Heartbeat.MaxPerSecond, plain.Heartbeat.Grace = words.Heartbeat.MinTTL, words.Heartbeat.MaxPerSecond, words.Heartbeat.Grace
	theirs := maps.Collect(language.Fields(reflect.ValueOf(*words)))
	for name, want := range language.Fields(reflect.ValueOf(plain)) {
		if !reflect.DeepEqual(theirs[name].Interface(), want.Interface()) {
			return fmt.Errorf("%w: the scenario sets %s of its cluster, which real servers cannot be told: leave it as it is by default", ErrReal, name)
		}
	}
	return nil
}

// RunReal runs what was compiled in a real cluster, in this process, and returns the Result; tell
// may be nil. CheckReal must have found nothing. When ctx ends, so do the run and what it has
// started or changed. Beside a LeftError there is a Result.
func RunReal(ctx context.Context, c *Compiled, r Real, tell func(Progress)) (*metrics.Result, error) {
	if r.Say != nil && len(c.def.Cost.Said) > 0 {
		r.Say("the scenario's block cost says what work costs in a simulation: on real servers it has no effect")
	}
	if r.at != nil {
		return c.runElsewhere(ctx, r, tell)
	}
	return c.runOwn(ctx, r, tell)
}

// runOwn runs in servers that it starts and ends.
func (c *Compiled) runOwn(ctx context.Context, r Real, tell func(Progress)) (res *metrics.Result, err error) {
	words := c.def.Cluster.Args.(*clusterWords)
	set := nomadproc.Settings{
		Servers: words.Servers, NumSchedulers: &words.Schedulers, MaxHeartbeatsPerSecond: words.Heartbeat.MaxPerSecond,
		MinHeartbeatTTL: words.Heartbeat.MinTTL, HeartbeatGrace: words.Heartbeat.Grace,
	}
	servers, err := nomadproc.StartHeld(ctx, r.Dir, r.Bin, set)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, servers.Down()) }()
	cfg := realcluster.Config{
		Processes: servers,
		Clients:   remote.Config{Connections: cmp.Or(c.def.Fleet.Connections, c.scenario.Fleet.Nodes)},
	}
	for _, s := range servers.Servers {
		cfg.API = append(cfg.API, &api.Config{Address: "http://" + s.HTTP})
	}
	system, err := realcluster.Connect(cfg)
	if err != nil {
		return nil, err
	}
	defer system.Close()
	return c.runIn(ctx, system, r, tell)
}

// runIn runs in a cluster.
func (c *Compiled) runIn(ctx context.Context, system *realcluster.Cluster, r Real, tell func(Progress)) (*metrics.Result, error) {
	sc := c.scenario
	if err := remote.SetHabits(&sc.Fleet, system.Version); err != nil {
		return nil, err
	}
	sc.Cluster.Servers, sc.Run = system.Servers(), c.realLabel(r)
	return run.On(ctx, &sc, system, tell)
}

// realLabel describes the run in its Result. Nothing is charged there, and the broker is what the
// release has.
func (c *Compiled) realLabel(r Real) metrics.Run {
	label := c.label()
	label.Broker, label.Target, label.Clock, label.CostModel = r.Name, r.Version, ClockWall, nil
	delete(label.Params, "cost")
	where := []string{"--bin", Quote(r.Bin)}
	if r.at != nil {
		where = r.at.arguments()
	}
	args := append(c.spec.arguments(c.def.Variables), "--target", "nomad")
	label.Rerun = strings.Join(append(append(args, where...), "--seed", strconv.FormatInt(c.spec.Seed, 10)), " ")
	return label
}
