package telemetry

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-metrics"
	promsink "github.com/hashicorp/go-metrics/prometheus"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster"
)

// What Nomad's agents have unless they are told (command/agent/config.go, and
// command/agent/command.go, setupTelemetry).
const (
	interval = 10 * time.Second
	retain   = time.Minute
	collect  = time.Second
)

// Telemetry gathers the figures of one cluster. It is safe for concurrent use.
type Telemetry struct {
	inmem   *metrics.InmemSink
	prom    http.Handler
	to      *metrics.Metrics
	applied atomic.Uint64 // the latest entry that was counted
}

var _ cluster.Observer = (*Telemetry)(nil)

// New returns a Telemetry without figures.
func New() (*Telemetry, error) {
	t := &Telemetry{inmem: metrics.NewInmemSink(interval, retain)}
	registry := prometheus.NewRegistry()
	sink, err := promsink.NewPrometheusSinkFrom(promsink.PrometheusOpts{Expiration: promsink.DefaultPrometheusOpts.Expiration, Registerer: registry})
	if err != nil {
		return nil, fmt.Errorf("make the Prometheus sink: %w", err)
	}
	t.prom = promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError, DisableCompression: true})
	conf := metrics.DefaultConfig("nomad")
	conf.EnableHostname, conf.EnableRuntimeMetrics = false, false
	if t.to, err = metrics.New(conf, metrics.FanoutSink{t.inmem, sink}); err != nil {
		return nil, fmt.Errorf("make the metrics: %w", err)
	}
	return t, nil
}

// Run looks at the gauges of a cluster until ctx is done.
func (t *Telemetry) Run(ctx context.Context, c *cluster.Cluster) {
	tick := time.NewTicker(collect)
	defer tick.Stop()
	for {
		t.gauges(c.Stats())
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (t *Telemetry) gauges(st cluster.Stats) {
	gauge := func(value int, key ...string) { t.to.SetGauge(append([]string{"nomad"}, key...), float32(value)) }
	gauge(st.Broker.Ready, "broker", "total_ready")
	gauge(st.Broker.Unacked, "broker", "total_unacked")
	gauge(st.Broker.Pending, "broker", "total_pending")
	gauge(st.Broker.Waiting, "broker", "total_waiting")
	gauge(st.Broker.Cancelable, "broker", "total_cancelable")
	for kind, of := range st.Broker.ByScheduler {
		gauge(of.Ready, "broker", kind, "ready")
		gauge(of.Unacked, "broker", kind, "unacked")
	}
	gauge(st.BlockedJobs, "blocked_evals", "total_blocked")
	gauge(st.PlanQueueDepth, "plan", "queue_depth")
	gauge(st.HeartbeatsActive, "heartbeat", "active")
	t.to.SetGauge([]string{"raft", "appliedIndex"}, float32(t.applied.Load()))
	t.to.SetGauge([]string{"raft", "lastIndex"}, float32(st.LastIndex))
}

// fsmNames are the names of the samples of entries by their type (nomad/fsm.go).
var fsmNames = map[string]string{
	"NodeRegisterRequestType": "register_node", "NodeBatchDeregisterRequestType": "batch_deregister_node",
	"NodeUpdateStatusRequestType": "node_status_update", "NodeUpdateDrainRequestType": "node_drain_update",
	"BatchNodeUpdateDrainRequestType": "batch_node_drain_update", "NodeUpdateEligibilityRequestType": "node_eligibility_update",
	"UpsertNodeEventsType": "upsert_node_events", "JobRegisterRequestType": "register_job", "JobDeregisterRequestType": "deregister_job",
	"JobBatchDeregisterRequestType": "batch_deregister_job", "ScalingEventRegisterRequestType": "upsert_scaling_event",
	"EvalUpdateRequestType": "update_eval", "EvalDeleteRequestType": "delete_eval", "AllocClientUpdateRequestType": "alloc_client_update",
	"AllocUpdateDesiredTransitionRequestType": "alloc_update_desired_transition", "ApplyPlanResultsRequestType": "apply_plan_results",
	"DeploymentStatusUpdateRequestType": "apply_deployment_status_update", "DeploymentDeleteRequestType": "apply_deployment_delete", "SchedulerConfigRequestType": "apply_scheduler_config",
	"OneTimeTokenExpireRequestType": "apply_one_time_token_expire",
}

// Follow counts an entry that a server has applied. It is a cluster.Config's Follow; only the
// first server to apply an entry counts.
func (t *Telemetry) Follow(a cluster.Applied) {
	for {
		last := t.applied.Load()
		if a.Index <= last {
			return
		}
		if t.applied.CompareAndSwap(last, a.Index) {
			break
		}
	}
	name, ok := fsmNames[a.Type]
	if !ok {
		name = strings.ToLower(a.Type)
	}
	t.sample(a.Took, nil, "nomad", "fsm", name)
	t.to.IncrCounter([]string{"raft", "apply"}, 1)
}

func (t *Telemetry) sample(d time.Duration, labels []metrics.Label, key ...string) {
	t.to.AddSampleWithLabels(key, float32(d)/float32(time.Millisecond), labels)
}

// Dequeued implements cluster.Observer.
func (t *Telemetry) Dequeued(_ time.Time, e *broker.Evaluation, waited time.Duration) {
	t.sample(waited, labels(e), "nomad", "broker", "wait_time")
}

// Acked implements cluster.Observer.
func (t *Telemetry) Acked(_ time.Time, e *broker.Evaluation, held time.Duration, _ int) {
	t.sample(held, labels(e), "nomad", "broker", "process_time")
}

// Nacked implements cluster.Observer.
func (t *Telemetry) Nacked(time.Time, *broker.Evaluation) {
	t.to.IncrCounter([]string{"nomad", "broker", "nack"}, 1)
}

// Flushed implements cluster.Observer.
func (t *Telemetry) Flushed(time.Time) {}

// labels are those of Nomad's samples of evaluations but for the job, which would make a
// series of each.
func labels(e *broker.Evaluation) []metrics.Label {
	return []metrics.Label{{Name: "eval_type", Value: e.Type}, {Name: "triggered_by", Value: e.TriggeredBy}, {Name: "namespace", Value: e.Namespace}}
}

// ServeHTTP answers /v1/metrics.
func (t *Telemetry) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("format") == "prometheus" {
		t.prom.ServeHTTP(w, r)
		return
	}
	summary, err := t.inmem.DisplayMetrics(w, r)
	var body []byte
	if err == nil {
		body, err = json.Marshal(summary)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	// The other end has gone if this fails.
	_, _ = w.Write(body)
}
