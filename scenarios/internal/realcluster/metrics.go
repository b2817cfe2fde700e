package realcluster

import (
	"bytes"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/hashicorp/nomad/api"
)

// Names of metrics in the format of Prometheus.
const (
	brokerPrefix = "nomad_nomad_broker_"
	fsmPrefix    = "nomad_nomad_fsm_"
	countSuffix  = "_count"

	metricAcks        = "nomad_nomad_eval_ack" + countSuffix
	metricCore        = "nomad_nomad_worker_invoke_scheduler__core" + countSuffix // whose evaluations are acked, too, and are in no log
	metricReblocks    = "nomad_nomad_eval_reblock" + countSuffix                  // which are acked, too, and still blocked
	metricPlans       = "nomad_nomad_plan_submit" + countSuffix
	metricInvalidated = "nomad_nomad_heartbeat_invalidate" + countSuffix
	metricHeartbeats  = "nomad_nomad_heartbeat_active"
	metricPlanQueue   = "nomad_nomad_plan_queue_depth"
)

// counts follows the metrics of one server. Its counters go on from their last value if they
// begin anew, as they do when nothing was counted for a minute.
type counts struct {
	now   map[string]float64 // the metrics as they are
	total map[string]float64 // what the counters have counted since begin
	// gone says that the server was killed: what it counted since begin is lost.
	gone bool
}

// begin makes the present the beginning of what is counted.
func (c *counts) begin() { c.total = map[string]float64{} }

// take takes the next metrics into account.
func (c *counts) take(next map[string]float64) {
	for name, v := range next {
		if !strings.HasSuffix(name, countSuffix) || c.total == nil {
			continue
		}
		more := v - c.now[name]
		if more < 0 {
			more = v
		}
		c.total[name] += more
	}
	// A counter that is not shown any more begins anew when it comes back.
	c.now = next
}

// scrape takes the present metrics of a server into account.
func (s *server) scrape() error {
	text, err := s.client.Operator().Metrics(&api.QueryOptions{Params: map[string]string{"format": "prometheus"}})
	if err != nil {
		err = asError(err)
		if strings.Contains(err.Error(), "Prometheus is not enabled") {
			err = fmt.Errorf("%w: its servers have no metrics in the format of Prometheus: set telemetry { prometheus_metrics = true } in their configuration", ErrUnsuited)
		}
		return err
	}
	s.counts.take(parseMetrics(text))
	return nil
}

// parseMetrics reads the text format of Prometheus: the sum over all labels, less quantiles, for
// each name.
func parseMetrics(text []byte) map[string]float64 {
	all := map[string]float64{}
	for line := range bytes.Lines(text) {
		line := strings.TrimSpace(string(line))
		if line == "" || line[0] == '#' || strings.Contains(line, "quantile=") {
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		if at < 0 {
			continue
		}
		v, err := strconv.ParseFloat(line[at+1:], 64)
		name, _, _ := strings.Cut(line[:at], "{")
		if err == nil {
			all[name] += v
		}
	}
	return all
}

// entrySuffix ends Nomad's names of types.
const entrySuffix = "RequestType"

// entryTypes are Nomad's names of the types of log entries, less entrySuffix, by what the state machine calls the
// time that it takes to apply one.
var entryTypes = map[string]string{
	"register_node": "NodeRegister", "deregister_node": "NodeDeregister", "batch_deregister_node": "NodeBatchDeregister",
	"node_status_update": "NodeUpdateStatus", "node_drain_update": "NodeUpdateDrain", "batch_node_drain_update": "BatchNodeUpdateDrain",
	"node_eligibility_update": "NodeUpdateEligibility", "upsert_node_events": "UpsertNodeEvents",
	"register_job": "JobRegister", "deregister_job": "JobDeregister", "batch_deregister_job": "JobBatchDeregister", "apply_job_stability": "JobStability",
	"update_eval": "EvalUpdate", "delete_eval": "EvalDelete", "apply_plan_results": "ApplyPlanResults",
	"alloc_update": "AllocUpdate", "alloc_client_update": "AllocClientUpdate", "alloc_update_desired_transition": "AllocUpdateDesiredTransition",
	"apply_deployment_status_update": "DeploymentStatusUpdate", "apply_deployment_promotion": "DeploymentPromote",
	"apply_deployment_alloc_health": "DeploymentAllocHealth", "apply_deployment_delete": "DeploymentDelete",
	"apply_scheduler_config": "SchedulerConfig", "autopilot": "Autopilot", "cluster_meta": "ClusterMetadata",
	"upsert_scaling_event": "ScalingEventRegister", "apply_one_time_token_expire": "OneTimeTokenExpire",
}

// entries returns how many entries of each type the server has applied since the beginning; nil if
// that is lost. A type that the table lacks has the metric's name.
func (c *counts) entries() map[string]uint64 {
	if c.gone {
		return nil
	}
	all := map[string]uint64{}
	for name, n := range c.total {
		kind, ok := strings.CutPrefix(strings.TrimSuffix(name, countSuffix), fsmPrefix)
		if !ok || kind == "persist" || n == 0 {
			continue
		}
		if known := entryTypes[kind]; known != "" {
			kind = known + entrySuffix
		}
		all[kind] += uint64(n)
	}
	return all
}

// counted is what the log had at an index.
type counted struct {
	index   uint64
	entries map[string]uint64
}

// EntriesBetween returns the entries by type between two indexes that Stats has returned; nil if
// nobody has counted them. Raft's own are not counted.
func (c *Cluster) EntriesBetween(after, upTo uint64) map[string]uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := func(index uint64) map[string]uint64 {
		var entries map[string]uint64
		for _, p := range c.past {
			if p.index <= index {
				entries = p.entries
			}
		}
		return entries
	}
	before, now := at(after), at(upTo)
	if before == nil || now == nil {
		return nil
	}
	grown := maps.Clone(now)
	for kind, n := range before {
		if grown[kind] <= n {
			delete(grown, kind)
		} else {
			grown[kind] -= n
		}
	}
	return grown
}
