package judge

import (
	"regexp"
	"testing"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
	"github.com/simctl/simctl/metrics"
)

// TestOneOfEach reads the verdicts aloud when there is one of each thing: right ones, and wrong ones.
func TestOneOfEach(t *testing.T) {
	alone := func(n []*rpc.Node) {
		for _, other := range n[1:] {
			other.Status = rpc.NodeStatusDown
		}
	}
	service := []*rpc.Job{job(rpc.JobTypeService, 0, 1)}
	right := placed{jobs: service, nodes: alone, allocs: []string{"service-000/node0"}}.snapshot(t)
	lacking := placed{jobs: service, nodes: alone}.snapshot(t)

	evals := func(status string) *state.Snapshot {
		s := state.New()
		must(t, s.Update(10, func(tx *state.Tx) error { return tx.UpsertEvals(eval("a", "j", status)) }))
		return s.Snapshot()
	}
	one := ackedOf("a")
	var reads Reads
	reads.See(Read{Acked: 2, Index: 1})
	reads.Held(right, "")
	for _, c := range []struct {
		got  metrics.Invariant
		want string
	}{
		{AsOracle("the run", right, cluster.Waiting{}), "after the run: 1 job on 1 ready node: 1 allocation wanted, 1 runs, 0 jobs wait for room; outcome "},
		{AsOracle("the run", lacking, cluster.Waiting{}), "0 run, 0 jobs wait for room; outcome .*; 1 difference from the oracle: service-000 runs 0 allocations of group, 1 wanted"},
		{NonePending(cluster.Stats{StatePending: 1}), "0 in the broker, 1 pending in state"},
		{Logs(cluster.Agreement{Acked: 1})[1], "1 acknowledged, every server has it$"},
		{ServersSame([]*state.Snapshot{right}, func() {}), "^1 server at index"},
		{OneInFlight(Seen{acks: 1}), "^1 ack, none beside another of its job"},
		{OneInFlight(Seen{twice: 1}), "^1 evaluation was in flight together with another of the same job"},
		{Conserved(evals(broker.StatusCanceled), cluster.Stats{Counters: cluster.Counters{EvalsCreated: 2, EvalsProcessed: 0}}, Seen{acks: 1, acked: one}),
			"state holds 1, but 2 were created .and 0 collected.; state holds 1 canceled, but 0 were canceled; 1 ack was seen, but 0 evaluations processed; 1 was both"},
		{Conserved(evals(broker.StatusComplete), cluster.Stats{Counters: cluster.Counters{EvalsProcessed: 1}}, Seen{}), "0 acks were seen, but 1 evaluation processed; 1 is complete, but was never acked"},
		{Conserved(evals(broker.StatusFailed), cluster.Stats{Counters: cluster.Counters{EvalsCreated: 1, EvalsFailed: 1}}, Seen{acked: ackedOf("b")}), "1 evaluation was acked, of which state holds 0"},
		{reads.Verdicts()[0], "^1 read; 1 goes back, the first"},
		{reads.Verdicts()[1], "^1 held; 1 changed, the first"},
		{NewTrail(1, NewObserver(func() {}, 0)).Verdict(), "^0 events, digest"},
	} {
		if !regexp.MustCompile(c.want).MatchString(c.got.Detail) {
			t.Errorf("%s: %q, want %q", c.got.Name, c.got.Detail, c.want)
		}
	}
}
