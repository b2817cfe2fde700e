package httpapi_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"
	"go.uber.org/goleak"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/httpapi"
	"github.com/simctl/simctl/cluster/telemetry"
	"github.com/simctl/simctl/nodesim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// limit bounds every wait of these tests, which run on the wall clock. It is far longer than
// anything takes.
const limit = 2 * time.Minute

// served is a cluster with an API.
type served struct {
	cluster *cluster.Cluster
	url     string
	api     *api.Client
}

// serve starts a cluster of one server with some clients, and its API.
func serve(t *testing.T, nodes int, change func(*httpapi.Options)) *served {
	t.Helper()
	figures, err := telemetry.New()
	if err != nil {
		t.Fatal(err)
	}
	events := &httpapi.Events{}
	c, err := cluster.Start(t.Context(), cluster.Config{
		Servers: 1, NumSchedulers: 2, Policy: broker.Shedding(), Observer: figures,
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
		Cluster: c, Version: "1.4.3", Schedulers: 2, Metrics: figures, Events: events,
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
		return d != nil && d.Status == "successful" && d.TaskGroups["front"].HealthyAllocs == 2
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

	evalID := must[string](t)(wrap(jobs.Deregister("web", false, nil)))
	until(t, "the evaluation of the stopped job completes", func() bool {
		return must[*api.Evaluation](t)(wrap(s.api.Evaluations().Info(evalID, nil))).Status == "complete"
	})
	until(t, "the job is dead", func() bool { return *must[*api.Job](t)(wrap(jobs.Info("web", nil))).Status == "dead" })
	if _, _, err := jobs.Deregister("none", false, nil); err == nil || !strings.Contains(err.Error(), "404 (job not found)") {
		t.Errorf("a job that is not there was stopped: %v", err)
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
		req, err := http.NewRequestWithContext(t.Context(), c.method, s.url+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != c.code || !strings.Contains(string(text), c.text) {
			t.Errorf("%s %s: %d %q (%v), want %d with %q", c.method, c.path, resp.StatusCode, text, err, c.code, c.text)
		}
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

// TestOperators asks what operators ask.
func TestOperators(t *testing.T) {
	s := serve(t, 2, nil)
	raft, err := s.api.Operator().RaftGetConfiguration(nil)
	if err != nil || len(raft.Servers) != 1 || !raft.Servers[0].Leader || raft.Servers[0].Address != "127.0.0.1:4647" {
		t.Errorf("raft: %+v, %v", raft, err)
	}
	members, err := s.api.Agent().Members()
	if err != nil || members.Members[0].Tags["build"] != "1.4.3" || members.Members[0].Status != "alive" {
		t.Errorf("members: %+v, %v", members, err)
	}
	if leader, err := s.api.Status().Leader(); err != nil || leader != "127.0.0.1:4647" {
		t.Errorf("leader %q, %v", leader, err)
	}
	if health, _, err := s.api.Operator().AutopilotServerHealth(nil); err != nil || !health.Healthy {
		t.Errorf("health %+v, %v", health, err)
	}
	if health, err := s.api.Agent().Health(); err != nil || !health.Server.Ok {
		t.Errorf("agent's health %+v, %v", health, err)
	}
	if self, err := s.api.Agent().Self(); err != nil || self.Stats["nomad"]["leader"] != "true" || self.Config["Region"] != "global" {
		t.Errorf("self %+v, %v", self, err)
	}

	conf, _, err := s.api.Operator().SchedulerGetConfiguration(nil)
	if err != nil || conf.SchedulerConfig.PauseEvalBroker || conf.SchedulerConfig.SchedulerAlgorithm != api.SchedulerAlgorithmBinpack {
		t.Fatalf("scheduler configuration %+v, %v", conf, err)
	}
	conf.SchedulerConfig.PauseEvalBroker = true
	if resp, _, err := s.api.Operator().SchedulerSetConfiguration(conf.SchedulerConfig, nil); err != nil || !resp.Updated {
		t.Fatalf("pause: %+v, %v", resp, err)
	}
	reg := must[*api.JobRegisterResponse](t)(wrap(s.api.Jobs().Register(serviceJob("paused", 1), nil)))
	if e := must[*api.Evaluation](t)(wrap(s.api.Evaluations().Info(reg.EvalID, nil))); e.Status != "pending" {
		t.Errorf("while the broker is paused the evaluation is %s", e.Status)
	}
	if _, err := s.api.Agent().SetSchedulerWorkerConfig(api.SchedulerWorkerPoolArgs{NumSchedulers: 1, EnabledSchedulers: []string{"_core", "batch", "service", "sysbatch", "system"}}, nil); err != nil {
		t.Error(err)
	}
	if pool, err := s.api.Agent().GetSchedulerWorkerConfig(nil); err != nil || pool.NumSchedulers != 1 {
		t.Errorf("workers %+v, %v", pool, err)
	}
	conf.SchedulerConfig.PauseEvalBroker = false
	if _, _, err := s.api.Operator().SchedulerSetConfiguration(conf.SchedulerConfig, nil); err != nil {
		t.Fatal(err)
	}
	until(t, "the evaluation completes", func() bool {
		return must[*api.Evaluation](t)(wrap(s.api.Evaluations().Info(reg.EvalID, nil))).Status == "complete"
	})
	if n := must[*api.EvalCountResponse](t)(wrap(s.api.Evaluations().Count(nil))); n.Count < 1 {
		t.Errorf("%d evaluations", n.Count)
	}

	sum, _, err := s.api.Operator().MetricsSummary(nil)
	if err != nil {
		t.Fatal(err)
	}
	gauges := map[string]float32{}
	for _, g := range sum.Gauges {
		gauges[g.Name] = g.Value
	}
	for _, name := range []string{"nomad.nomad.broker.total_pending", "nomad.nomad.heartbeat.active", "nomad.nomad.plan.queue_depth"} {
		if _, ok := gauges[name]; !ok {
			t.Errorf("no gauge %s in %v", name, gauges)
		}
	}
	text, err := s.api.Operator().Metrics(&api.QueryOptions{Params: map[string]string{"format": "prometheus"}})
	if err != nil || !strings.Contains(string(text), "nomad_nomad_broker_total_ready") || !strings.Contains(string(text), "nomad_nomad_fsm_register_job_count 1") {
		t.Errorf("prometheus (%v):\n%s", err, text)
	}
	found, _, err := s.api.Search().PrefixSearch("pau", "jobs", nil)
	if err != nil || len(found.Matches["jobs"]) != 1 {
		t.Errorf("search: %+v, %v", found, err)
	}
}

// TestNodes drains a node, ends that, and makes the servers forget it.
func TestNodes(t *testing.T) {
	s := serve(t, 2, nil)
	nodes := s.api.Nodes()
	var id string
	until(t, "a node is ready", func() bool {
		for _, n := range must[[]*api.NodeListStub](t)(wrap(nodes.List(nil))) {
			if n.Status == "ready" {
				id = n.ID
			}
		}
		return id != ""
	})
	drained, err := nodes.UpdateDrain(id, &api.DrainSpec{Deadline: time.Hour}, false, nil)
	if err != nil || drained.NodeModifyIndex == 0 {
		t.Fatalf("drain: %+v, %v", drained, err)
	}
	// A node without allocations is drained at once.
	until(t, "the drain ends", func() bool {
		n := must[*api.Node](t)(wrap(nodes.Info(id, nil)))
		return !n.Drain && n.SchedulingEligibility == "ineligible"
	})
	if _, err := nodes.ToggleEligibility(id, true, nil); err != nil {
		t.Fatal(err)
	}
	n := must[*api.Node](t)(wrap(nodes.Info(id, nil)))
	if n.SchedulingEligibility != "eligible" || !n.Drivers["mock_driver"].Healthy || n.Events[0].Message != "Node registered" {
		t.Errorf("node %+v", n)
	}
	if _, _, err := nodes.Purge(id, nil); err != nil {
		t.Fatal(err)
	}
}

// TestEvents follows the stream of events of one job.
func TestEvents(t *testing.T) {
	s := serve(t, 0, nil)
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	ch, err := s.api.EventStream().Stream(ctx, map[api.Topic][]string{api.TopicJob: {"told"}, api.TopicEvaluation: {"told"}}, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	must[*api.JobRegisterResponse](t)(wrap(s.api.Jobs().Register(serviceJob("other", 1), nil)))
	reg := must[*api.JobRegisterResponse](t)(wrap(s.api.Jobs().Register(serviceJob("told", 1), nil)))
	for e := range ch {
		if e.Err != nil {
			t.Fatal(e.Err)
		}
		if e.IsHeartbeat() {
			continue
		}
		if e.Index != reg.JobModifyIndex || len(e.Events) != 2 {
			t.Fatalf("events %+v, want those at index %d of the job and its evaluation", e, reg.JobModifyIndex)
		}
		job, err := e.Events[0].Job()
		if err != nil || *job.ID != "told" || e.Events[0].Type != "JobRegistered" {
			t.Errorf("event %+v (%v), want the registered job", e.Events[0], err)
		}
		eval, err := e.Events[1].Evaluation()
		if err != nil || eval.ID != reg.EvalID {
			t.Errorf("event %+v (%v), want its evaluation", e.Events[1], err)
		}
		cancel()
		break
	}
	for range ch { // until the client has ended
	}
}

// TestToken: with a token, nothing is told or done without it, nor for a page of another
// site.
func TestToken(t *testing.T) {
	s := serve(t, 0, func(o *httpapi.Options) { o.Token = "secret" })
	if _, _, err := s.api.Jobs().List(nil); err != nil {
		t.Errorf("with the token: %v", err)
	}
	s.api.SetSecretID("wrong")
	if _, _, err := s.api.Jobs().List(nil); err == nil || !strings.Contains(err.Error(), "403 (Permission denied)") {
		t.Errorf("with a wrong token: %v", err)
	}
	for _, site := range []string{"same-origin", "cross-site"} {
		req := httptest.NewRequestWithContext(t.Context(), "PUT", s.url+"/v1/system/gc", nil)
		req.RequestURI = ""
		req.Header.Set("Sec-Fetch-Site", site)
		req.Header.Set("X-Nomad-Token", "secret")
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if allowed := resp.StatusCode == 200; allowed != (site == "same-origin") {
			t.Errorf("a page of %s got %s", site, resp.Status)
		}
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

// TestSlowBody: a body that does not arrive is not waited for, and the next request is served.
func TestSlowBody(t *testing.T) {
	s := serve(t, 0, func(o *httpapi.Options) { o.BodyTimeout, o.MaxBody = 50*time.Millisecond, 1000 })
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(limit)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "PUT /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"); err != nil {
		t.Fatal(err)
	}
	// The server closes the connection, which the client may hear of before it has read all.
	text, err := io.ReadAll(conn)
	if !strings.HasPrefix(string(text), "HTTP/1.1 400 ") || !strings.Contains(string(text), "read the request body") {
		t.Errorf("a slow body: %q, %v", text, err)
	}
	large := serviceJob("large", 1)
	large.Meta = map[string]string{"text": strings.Repeat("x", 2000)}
	if _, _, err := s.api.Jobs().Register(large, nil); err == nil || !strings.Contains(err.Error(), "413") {
		t.Errorf("a large body: %v", err)
	}
	if _, _, err := s.api.Jobs().List(nil); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}
