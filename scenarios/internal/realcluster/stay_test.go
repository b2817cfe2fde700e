package realcluster_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/internal/walltest"
	"github.com/simctl/simctl/nodesim"
	"github.com/simctl/simctl/scenarios/internal/realcluster"
	"github.com/simctl/simctl/scenarios/serve"
)

func TestMain(m *testing.M) { walltest.Main(m) }

// limit bounds the wait for a cluster, which takes far less.
const limit = 2 * time.Minute

// schedulers are those that the cluster has.
const schedulers = 3

// served starts a cluster that speaks Nomad's protocols, and returns how to reach it. Tests that
// do so wait for it, and do it side by side.
func served(t *testing.T) realcluster.Config {
	t.Helper()
	t.Parallel()
	ctx, stop := context.WithCancel(context.Background())
	ready, ended := make(chan serve.Where, 1), make(chan error, 1)
	o := serve.Options{
		Servers: 1, Schedulers: schedulers, Broker: "shedding", Seed: 1, TimeScale: 0.2,
		HTTPAddr: "127.0.0.1:0", RPCAddr: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler),
	}
	go func() { ended <- serve.Run(ctx, o, func(w serve.Where) { ready <- w }) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("serving ended with %v", err)
		}
	})
	select {
	case w := <-ready:
		return realcluster.Config{API: []*api.Config{{Address: "http://" + w.HTTP.String()}}, RPC: []string{w.RPC[0].String()}}
	case <-time.After(limit):
		t.Fatal("nothing was served in time")
	}
	return realcluster.Config{}
}

// use makes a stay leave traces: a job, a node that is ready, a broker that is paused.
func use(t *testing.T, s *realcluster.Stay) {
	t.Helper()
	job := &rpc.Job{
		Namespace: rpc.DefaultNamespace, ID: "sys", Type: rpc.JobTypeSystem, Priority: 50, Datacenters: []string{"dc1"},
		TaskGroups: []rpc.TaskGroup{{Name: "g", Resources: rpc.Resources{CPUMHz: 10, MemoryMB: 10, DiskMB: 10}}},
	}
	if _, err := s.RegisterJob(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	node := &rpc.Node{
		ID: "11111111-2222-3333-4444-555555555555", Name: "one", Datacenter: "dc1", Status: rpc.NodeStatusInit, SchedulingEligibility: "eligible",
		Attributes: nodesim.DefaultAttributes(), Resources: nodesim.DefaultResources,
	}
	if _, err := s.NodeServer(0).Register(t.Context(), &rpc.NodeRegisterRequest{Node: node}); err != nil {
		t.Fatal(err)
	}
	if err := s.PauseEvalBroker(t.Context(), true); err != nil {
		t.Fatal(err)
	}
}

// state is what a cluster holds and how it is set.
type state struct {
	jobs, nodes, schedulers int
	paused                  bool
}

func stateOf(t *testing.T, cfg realcluster.Config) (st state) {
	t.Helper()
	client, err := api.NewClient(&api.Config{Address: cfg.API[0].Address})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	jobs, _, err := client.Jobs().List(nil)
	nodes, _, err2 := client.Nodes().List(nil)
	workers, err3 := client.Agent().GetSchedulerWorkerConfig(nil)
	settings, _, err4 := client.Operator().SchedulerGetConfiguration(nil)
	if err := errors.Join(err, err2, err3, err4); err != nil {
		t.Fatal(err)
	}
	return state{len(jobs), len(nodes), workers.NumSchedulers, settings.SchedulerConfig.PauseEvalBroker}
}

// enter begins a stay with one scheduler, and returns what was cleaned up before.
func enter(t *testing.T, cfg realcluster.Config, dir string) (*realcluster.Stay, realcluster.Cleaned) {
	t.Helper()
	var found realcluster.Cleaned
	s, err := realcluster.Enter(t.Context(), cfg, dir, 1, func(c realcluster.Cleaned) { found = c })
	if err != nil {
		t.Fatal(err)
	}
	return s, found
}

func TestStay(t *testing.T) {
	cfg, dir := served(t), t.TempDir()
	untouched := stateOf(t, cfg)
	s, found := enter(t, cfg, dir)
	if found.Any() || stateOf(t, cfg).schedulers != 1 {
		t.Errorf("it found %+v and left %+v", found, stateOf(t, cfg))
	}
	use(t, s)
	if got, want := stateOf(t, cfg), (state{1, 1, 1, true}); got != want {
		t.Errorf("meanwhile the cluster is %+v, want %+v", got, want)
	}
	for what, err := range map[string]error{
		"a second stay": func() error { _, err := realcluster.Enter(t.Context(), cfg, dir, 1, nil); return err }(),
		"a look":        func() error { _, err := realcluster.Look(t.Context(), cfg, dir, nil); return err }(),
		"a clean-up":    func() error { _, err := realcluster.Cleanup(t.Context(), cfg, dir); return err }(),
	} {
		if !errors.Is(err, realcluster.ErrUnsuited) || !strings.Contains(err.Error(), "another simctl") {
			t.Errorf("%s meanwhile: %v", what, err)
		}
	}
	if err := s.Leave(); err != nil {
		t.Fatal(err)
	}
	if got := stateOf(t, cfg); got != untouched {
		t.Errorf("afterwards the cluster is %+v, want %+v", got, untouched)
	}
}

// TestKilled: whatever a run has left that was killed, the next one cleans up, or Cleanup.
func TestKilled(t *testing.T) {
	cfg, dir := served(t), t.TempDir()
	untouched := stateOf(t, cfg)
	s, _ := enter(t, cfg, dir)
	use(t, s)
	s.Abandon()
	if _, err := realcluster.Look(t.Context(), cfg, dir, nil); err != nil {
		t.Errorf("the next run is refused: %v", err)
	}
	if _, err := realcluster.Look(t.Context(), cfg, t.TempDir(), nil); !errors.Is(err, realcluster.ErrUnsuited) || !strings.Contains(err.Error(), "nomad cleanup") {
		t.Errorf("a run of another machine: %v", err)
	}
	s, found := enter(t, cfg, dir)
	if want := (realcluster.Cleaned{Jobs: 1, Nodes: 1, Settings: true}); found != want {
		t.Errorf("the next run found %+v, want %+v", found, want)
	}
	use(t, s)
	s.Abandon()
	elsewhere, err := realcluster.Cleanup(t.Context(), cfg, t.TempDir())
	if want := (realcluster.Cleaned{Jobs: 1, Nodes: 1, Settings: true}); elsewhere != want || err != nil {
		t.Errorf("a clean-up of another machine found %+v, %v, want %+v", elsewhere, err, want)
	}
	if here, err := realcluster.Cleanup(t.Context(), cfg, dir); here.Any() || err != nil {
		t.Errorf("the clean-up here found %+v, %v after that", here, err)
	}
	if got := stateOf(t, cfg); got != untouched {
		t.Errorf("afterwards the cluster is %+v, want %+v", got, untouched)
	}
	if again, err := realcluster.Cleanup(t.Context(), cfg, dir); again.Any() || err != nil {
		t.Errorf("cleaned up twice: %+v, %v", again, err)
	}
}

func TestOthers(t *testing.T) {
	cfg, dir := served(t), t.TempDir()
	client, err := api.NewClient(&api.Config{Address: cfg.API[0].Address})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	job := api.NewBatchJob("web", "web", "global", 50)
	job.AddTaskGroup(api.NewTaskGroup("g", 1).AddTask(api.NewTask("t", "raw_exec").SetConfig("command", "/bin/true")))
	if _, _, err := client.Jobs().Register(job, nil); err != nil {
		t.Fatal(err)
	}
	before := stateOf(t, cfg)
	refused := func(what, want string) {
		t.Helper()
		_, err := realcluster.Look(t.Context(), cfg, dir, nil)
		_, alike := realcluster.Enter(t.Context(), cfg, dir, 1, nil)
		for _, err := range []error{err, alike} {
			if !errors.Is(err, realcluster.ErrUnsuited) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", what, err, want)
			}
		}
		if got := stateOf(t, cfg); got != before {
			t.Errorf("%s: the cluster is %+v, want %+v", what, got, before)
		}
	}
	refused("a job of others", "others use it (job web)")
	cfg.Foreign, cfg.Jobs = true, []string{"web"}
	refused("a job of the same name", "somebody else's job web")
	cfg.Jobs = nil
	s, _ := enter(t, cfg, dir)
	use(t, s)
	if err := s.Leave(); err != nil {
		t.Fatal(err)
	}
	if got := stateOf(t, cfg); got != before {
		t.Errorf("afterwards the cluster is %+v, want %+v", got, before)
	}
}

func TestUnsuited(t *testing.T) {
	cfg := served(t)
	for _, c := range []struct {
		what, want string
		api, rpc   int // how often the server is named
	}{
		{"a server twice", "lead to the server", 2, 0},
		{"addresses that do not match", "of RPC for 2", 1, 2},
	} {
		bad := realcluster.Config{}
		for range c.api {
			bad.API = append(bad.API, cfg.API[0])
		}
		for range c.rpc {
			bad.RPC = append(bad.RPC, cfg.RPC[0])
		}
		if _, err := realcluster.Look(t.Context(), bad, t.TempDir(), nil); !errors.Is(err, realcluster.ErrUnsuited) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.what, err, c.want)
		}
	}
}
