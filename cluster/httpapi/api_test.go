package httpapi_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/httpapi"
	"github.com/simctl/simctl/cluster/telemetry"
	"github.com/simctl/simctl/internal/walltest"
	"github.com/simctl/simctl/nodesim"
)

func TestMain(m *testing.M) { walltest.Main(m) }

// limit bounds every wait of these tests, which run on the wall clock. It is far longer than
// anything takes.
const limit = 2 * time.Minute

// alone is how Raft goes on in a cluster of one server.
var alone = cluster.RaftConfig{HeartbeatTimeout: walltest.Election, ElectionTimeout: walltest.Election, LeaderLeaseTimeout: walltest.Election}

// served is a cluster with an API.
type served struct {
	cluster *cluster.Cluster
	url     string
	api     *api.Client
}

// serve starts a cluster of one server with some clients, and its API. Tests that do so wait for
// elections, and do it side by side.
func serve(t *testing.T, nodes int, change func(*httpapi.Options)) *served {
	t.Helper()
	t.Parallel()
	figures, err := telemetry.New()
	if err != nil {
		t.Fatal(err)
	}
	events := &httpapi.Events{}
	c, err := cluster.Start(t.Context(), cluster.Config{
		Servers: 1, NumSchedulers: 2, Policy: broker.Shedding(), Observer: figures, Raft: alone,
		Follow: func(a cluster.Applied) { figures.Follow(a); events.Follow(a) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Shutdown(); err != nil {
			t.Error(err)
		}
	})
	if nodes > 0 {
		fleet, err := nodesim.NewFleet(nodesim.Config{
			Nodes: nodes, Servers: 1, Dial: c.NodeServer, ReportAllocs: true,
			Timing: nodesim.Timing{RegisterStagger: time.Millisecond, MinHealthy: 10 * time.Millisecond},
		})
		if err != nil {
			t.Fatal(err)
		}
		fleet.Start(context.Background())
		t.Cleanup(fleet.Shutdown)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		figures.Run(ctx, c)
	}()
	t.Cleanup(func() { stop(); <-done })
	o := httpapi.Options{
		Cluster: c, Version: "1.4.3", Metrics: figures, Events: events,
		RPC: func(i int) netip.AddrPort {
			return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 4647+uint16(i))
		},
	}
	if change != nil {
		change(&o)
	}
	ts := httptest.NewServer(httpapi.New(o))
	t.Cleanup(ts.Close)
	client, err := api.NewClient(&api.Config{Address: ts.URL, SecretID: o.Token, HttpClient: ts.Client()})
	if err != nil {
		t.Fatal(err)
	}
	return &served{c, ts.URL, client}
}

// until calls look until it returns true.
func until(t *testing.T, what string, look func() bool) {
	t.Helper()
	for began := time.Now(); !look(); time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > limit {
			t.Fatalf("%s did not happen within %v", what, limit)
		}
	}
}

// must returns what a call of the client returned, and fails the test if that was an error.
func must[T any](t *testing.T) func(v T, _ any, err error) T {
	return func(v T, _ any, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func serviceJob(id string, count int) *api.Job {
	task := api.NewTask("web", "mock_driver").SetConfig("run_for", "1h").Require(&api.Resources{CPU: new(100), MemoryMB: new(64)})
	group := api.NewTaskGroup("front", count).AddTask(task)
	group.Update = &api.UpdateStrategy{MinHealthyTime: new(10 * time.Millisecond)}
	job := api.NewServiceJob(id, id, "global", 50).AddTaskGroup(group)
	job.Datacenters = []string{"dc1"}
	return job
}

// TestJobLife registers a job, follows it until it runs, changes it and stops it, all
// through the client of the module nomad/api.
func TestJobLife(t *testing.T) {
	s := serve(t, 3, nil)
	jobs := s.api.Jobs()
	until(t, "all nodes ready", func() bool {
		ready := 0
		for _, n := range must[[]*api.NodeListStub](t)(wrap(s.api.Nodes().List(nil))) {
			if n.Status == "ready" {
				ready++
			}
		}
		return ready == 3
	})

	job := serviceJob("web", 2)
	job.Meta = map[string]string{"owner": "team"}
	job.Constraints = []*api.Constraint{api.NewConstraint("${attr.kernel.name}", "=", "linux")}
	reg := must[*api.JobRegisterResponse](t)(wrap(jobs.Register(job, nil)))
	if reg.EvalID == "" || reg.EvalCreateIndex == 0 || reg.JobModifyIndex != reg.EvalCreateIndex {
		t.Errorf("registered with %+v, want an evaluation at the index of the job", reg)
	}
	if !strings.Contains(reg.Warnings, "job web: the simulated schedulers do not look at constraint") {
		t.Errorf("warnings %q, want one about the constraint", reg.Warnings)
	}
	if _, _, err := jobs.EnforceRegister(job, 0, nil); err == nil || !strings.Contains(err.Error(), "Enforcing job modify index 0: job already exists") {
		t.Errorf("the job was registered again as a new one: %v", err)
	}

	until(t, "the job's allocations run", func() bool {
		running := 0
		for _, a := range must[[]*api.AllocationListStub](t)(wrap(jobs.Allocations("web", false, nil))) {
			if a.ClientStatus == "running" && a.NodeName != "" && a.TaskGroup == "front" {
				running++
			}
		}
		return running == 2
	})
	eval := must[*api.Evaluation](t)(wrap(s.api.Evaluations().Info(reg.EvalID, nil)))
	if eval.Status != "complete" || eval.JobID != "web" || eval.TriggeredBy != "job-register" {
		t.Errorf("evaluation %+v", eval)
	}
	until(t, "the deployment succeeds", func() bool {
		d := must[*api.Deployment](t)(wrap(jobs.LatestDeployment("web", nil)))
		return d != nil && d.ID == eval.DeploymentID && d.Status == "successful" && d.TaskGroups["front"].HealthyAllocs == 2
	})

	got := must[*api.Job](t)(wrap(jobs.Info("web", nil)))
	if *got.SubmitTime == 0 || *got.Status != "running" || got.Meta["owner"] != "team" || len(got.Constraints) != 1 || got.TaskGroups[0].Tasks[0].Driver != "mock_driver" {
		t.Errorf("the job is %+v; want it running, and as it was registered", got)
	}
	sum := must[*api.JobSummary](t)(wrap(jobs.Summary("web", nil)))
	if of := sum.Summary["front"]; of.Running != 2 || of.Queued != 0 {
		t.Errorf("summary %+v, want 2 running", sum)
	}
	list := must[[]*api.JobListStub](t)(wrap(jobs.PrefixList("we")))
	if len(list) != 1 || list[0].Status != "running" || list[0].JobSummary.Summary["front"].Running != 2 {
		t.Errorf("list %+v", list)
	}
	// What only the definition has makes a new version, too.
	job.Meta["owner"] = "others"
	must[*api.JobRegisterResponse](t)(wrap(jobs.Register(job, nil)))
	if got = must[*api.Job](t)(wrap(jobs.Info("web", nil))); *got.Version != 1 || got.Meta["owner"] != "others" {
		t.Errorf("version %d of owner %s, want 1 of others", *got.Version, got.Meta["owner"])
	}
	until(t, "both deployments are listed", func() bool {
		of, all := must[[]*api.Deployment](t)(wrap(jobs.Deployments("web", false, nil))), must[[]*api.Deployment](t)(wrap(s.api.Deployments().List(nil)))
		return len(of) == 2 && len(all) == 2 && must[*api.Deployment](t)(wrap(s.api.Deployments().Info(eval.DeploymentID, nil))).JobVersion == 0
	})

	evalID := must[string](t)(wrap(jobs.Deregister("web", false, nil)))
	until(t, "the evaluation of the stopped job completes", func() bool {
		return must[*api.Evaluation](t)(wrap(s.api.Evaluations().Info(evalID, nil))).Status == "complete"
	})
	until(t, "the job is dead", func() bool { return *must[*api.Job](t)(wrap(jobs.Info("web", nil))).Status == "dead" })

	// Allocations keep a job that is purged: clients stop tasks, and tools count resources, that are named there.
	must[string](t)(wrap(jobs.Deregister("web", true, nil)))
	if list := must[[]*api.JobListStub](t)(wrap(jobs.PrefixList("we"))); len(list) != 0 {
		t.Errorf("jobs after the purge: %+v", list)
	}
	for _, stub := range must[[]*api.AllocationListStub](t)(wrap(s.api.Allocations().List(nil))) {
		a := must[*api.Allocation](t)(wrap(s.api.Allocations().Info(stub.ID, nil)))
		if g := a.GetTaskGroup(); g == nil || g.Tasks[0].Name != job.TaskGroups[0].Tasks[0].Name || a.AllocatedResources.Tasks[g.Tasks[0].Name] == nil {
			t.Errorf("allocation of a purged job: group %+v, resources %+v", g, a.AllocatedResources)
		}
	}
}

// wrap makes the results of calls fit must, whatever their metadata is.
func wrap[T, M any](v T, meta M, err error) (T, any, error) { return v, meta, err }

// TestBlockingQuery waits for a change, and for none.
func TestBlockingQuery(t *testing.T) {
	s := serve(t, 0, nil)
	jobs := s.api.Jobs()
	_, meta, err := jobs.List(nil)
	if err != nil || meta.LastIndex == 0 || !meta.KnownLeader {
		t.Fatalf("list: %+v, %v", meta, err)
	}
	type result struct {
		list []*api.JobListStub
		meta *api.QueryMeta
		err  error
	}
	got := make(chan result)
	go func() {
		list, meta, err := jobs.List(&api.QueryOptions{WaitIndex: meta.LastIndex, WaitTime: limit})
		got <- result{list, meta, err}
	}()
	must[*api.JobRegisterResponse](t)(wrap(jobs.Register(serviceJob("late", 1), nil)))
	if r := <-got; r.err != nil || len(r.list) != 1 || r.meta.LastIndex <= meta.LastIndex {
		t.Errorf("the query ended with %+v", r)
	}
	_, now, err := s.api.Nodes().List(&api.QueryOptions{WaitIndex: 1, WaitTime: 20 * time.Millisecond})
	if err != nil || now.LastIndex != 1 {
		t.Errorf("nothing changes about nodes: index %+v, %v", now, err)
	}
}

// TestPages reads a list in pages.
func TestPages(t *testing.T) {
	s := serve(t, 0, nil)
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		must[*api.JobRegisterResponse](t)(wrap(s.api.Jobs().Register(serviceJob(id, 1), nil)))
	}
	var seen, pages []string
	for token := ""; ; {
		list, meta, err := s.api.Jobs().List(&api.QueryOptions{PerPage: 2, NextToken: token})
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range list {
			seen = append(seen, j.ID)
		}
		pages = append(pages, meta.NextToken)
		if token = meta.NextToken; token == "" {
			break
		}
	}
	if strings.Join(seen, "") != "abcde" || strings.Join(pages, " ") != "default.c default.e " {
		t.Errorf("saw %v with the tokens %q", seen, pages)
	}
}

// TestRefusals: errors have the status and the words that clients look for.
func TestRefusals(t *testing.T) {
	s := serve(t, 0, nil)
	for _, c := range []struct {
		method, path, body string
		code               int
		text               string
	}{
		{"GET", "/v1/job/none", "", 404, "job not found"},
		{"GET", "/v1/evaluation/none", "", 404, "eval not found"},
		{"GET", "/v1/allocation/none", "", 404, "alloc not found"},
		{"GET", "/v1/node/none", "", 404, "node not found"},
		{"GET", "/v1/deployment/none", "", 404, "deployment not found"},
		{"PATCH", "/v1/jobs", "", 405, "Invalid method"},
		{"GET", "/v1/jobs?index=x", "", 400, "Invalid index"},
		{"GET", "/v1/jobs?index=1&wait=x", "", 400, "Invalid wait time"},
		{"GET", "/v1/jobs?region=mars", "", 500, "No path to region"},
		{"GET", "/v1/jobs?filter=ID", "", 400, "failed to create result paginator"},
		{"PUT", "/v1/jobs/parse", "{}", 501, "does not support parsing job files"},
		{"GET", "/v1/volumes", "", 501, "does not support GET /v1/volumes"},
		{"PUT", "/v1/jobs", "{", 400, "decode the request body as JSON"},
		{"PUT", "/v1/jobs", "{}", 400, "Job must be specified"},
		{"PUT", "/v1/jobs", `{"Job":{"ID":"x","Type":"odd"}}`, 500, "invalid job type"},
		{"PUT", "/v1/jobs", `{"Job":{"ID":"x","Namespace":"n","TaskGroups":[{"Name":"g","Tasks":[{"Name":"t"}]}]}}`, 500, "nonexistent namespace"},
		{"PUT", "/v1/jobs", `{"Job":{"ID":"x","Type":"batch","Periodic":{"Spec":"*/7 * * * *"},"TaskGroups":[{"Name":"g","Tasks":[{"Name":"t"}]}]}}`, 500, "multiples of one duration"},
		{"PUT", "/v1/operator/scheduler/configuration", `{"SchedulerAlgorithm":"spread"}`, 400, "can only be told PauseEvalBroker"},
		{"PUT", "/v1/node/none/drain", "{}", 404, "node not found"},
		{"PUT", "/v1/search", `{"Context":"odd"}`, 500, "context must be one of"},
	} {
		if resp, text := ask(t, c.method, s.url+c.path, c.body); resp.StatusCode != c.code || !strings.Contains(string(text), c.text) {
			t.Errorf("%s %s: %d %q, want %d with %q", c.method, c.path, resp.StatusCode, text, c.code, c.text)
		}
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

// ask makes a request, and returns the answer and its body.
func ask(t *testing.T, method, url, body string) (*http.Response, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, text
}
