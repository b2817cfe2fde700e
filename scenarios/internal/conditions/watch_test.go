package conditions

import (
	"testing"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/rpc"
)

// TestQueueEmpty: what the leader's ticks put on the broker is no work of a job's.
func TestQueueEmpty(t *testing.T) {
	for _, c := range []struct {
		what  string
		stats broker.Stats
		want  bool
	}{
		{"nothing", broker.Stats{}, true},
		{"a job's evaluation", broker.Stats{Ready: 1, ByScheduler: map[string]broker.SchedulerStats{rpc.JobTypeSystem: {Ready: 1}}}, false},
		{"a tick that waits", broker.Stats{Ready: 1, ByScheduler: map[string]broker.SchedulerStats{rpc.JobTypeCore: {Ready: 1}}}, true},
		{"a tick with a worker", broker.Stats{Unacked: 1, ByScheduler: map[string]broker.SchedulerStats{rpc.JobTypeCore: {Unacked: 1}}}, true},
		{"a tick and a job's", broker.Stats{Unacked: 2, ByScheduler: map[string]broker.SchedulerStats{rpc.JobTypeCore: {Unacked: 1}}}, false},
		{"evaluations behind others", broker.Stats{Pending: 1}, false},
	} {
		s := Sample{Cluster: cluster.Stats{Leader: "s1", Broker: c.stats}}
		if got := s.queueEmpty(); got != c.want {
			t.Errorf("%s: empty %v, want %v", c.what, got, c.want)
		}
		s.Cluster.Leader = ""
		if s.queueEmpty() {
			t.Errorf("%s: empty without a leader", c.what)
		}
	}
}
