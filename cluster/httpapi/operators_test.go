package httpapi_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/simctl/simctl/cluster/httpapi"
)

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
	began := time.Now().Add(-time.Second) // drains are timed to the second
	drained, err := nodes.UpdateDrainOpts(id, &api.DrainOptions{DrainSpec: &api.DrainSpec{Deadline: time.Hour}, Meta: map[string]string{"why": "old"}}, nil)
	if err != nil || drained.NodeModifyIndex == 0 {
		t.Fatalf("drain: %+v, %v", drained, err)
	}
	// A node without allocations is drained at once.
	until(t, "the drain ends", func() bool {
		n := must[*api.Node](t)(wrap(nodes.Info(id, nil)))
		return !n.Drain && n.SchedulingEligibility == "ineligible"
	})
	for _, n := range must[[]*api.NodeListStub](t)(wrap(nodes.List(nil))) {
		switch d := n.LastDrain; {
		case n.ID != id:
			if d != nil {
				t.Errorf("a node that never drained has %+v", d)
			}
		case d == nil || d.Status != api.DrainStatusComplete || d.Meta["why"] != "old" || d.StartedAt.Before(began) || d.UpdatedAt.Before(d.StartedAt):
			t.Errorf("the last drain is %+v", d)
		}
	}
	if _, err := nodes.ToggleEligibility(id, true, nil); err != nil {
		t.Fatal(err)
	}
	n := must[*api.Node](t)(wrap(nodes.Info(id, nil)))
	if n.SchedulingEligibility != "eligible" || !n.Drivers["mock_driver"].Healthy ||
		n.Events[0].Message != "Node registered" || n.Events[0].Subsystem != "Cluster" || n.Events[1].Subsystem != "Drain" {
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
