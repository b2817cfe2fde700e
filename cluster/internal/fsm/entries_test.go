package fsm

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/config"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

// summary is what an entry means to the leader's parts, in one line.
func summary(fx *Effects) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	for _, e := range fx.Evals {
		add("eval %s", e.ID)
	}
	for _, j := range fx.Jobs {
		add("job %s runs %v", j.ID.ID, j.Job != nil)
	}
	for _, id := range fx.Deployments {
		add("deployment of %s", id.ID)
	}
	for _, a := range fx.Healths {
		add("health of %s", a.ID)
	}
	for _, id := range fx.Drains {
		add("drain of %s", id)
	}
	if fx.Allocs {
		add("allocations")
	}
	for _, n := range fx.Room {
		add("room on %s", n.ID)
	}
	if n := fx.Registered; n != nil {
		add("room in the class of %s", n.ID)
	}
	if fx.Counters != (Counters{}) {
		add("%+v", fx.Counters)
	}
	return strings.Join(parts, "; ")
}

// TestEntries: what each entry of the log costs and means, once it has gone through the log. The
// state has nodes n and m, a job, its deployment, its allocation a, which is unhealthy, on n, and
// evaluations e, pending, and f, blocked, and two that failed and were canceled before.
func TestEntries(t *testing.T) {
	eval := func(id string) *broker.Evaluation {
		return &broker.Evaluation{ID: id, Namespace: "default", JobID: "job", Status: broker.StatusPending}
	}
	as := func(id, status string) *broker.Evaluation { e := eval(id); e.Status = status; return e }
	nameless := []*broker.Evaluation{{}}
	job := func(id string, change ...func(*rpc.Job)) *rpc.Job {
		j := &rpc.Job{Namespace: "default", ID: id, Type: rpc.JobTypeBatch}
		for _, f := range change {
			f(j)
		}
		return j
	}
	update := func(deployment string) *rpc.DeploymentUpdate {
		return &rpc.DeploymentUpdate{Namespace: "default", JobID: "job", DeploymentID: deployment, Status: rpc.DeploymentFailed}
	}
	alloc := func(id, node, deployment string) *rpc.Allocation {
		return &rpc.Allocation{ID: id, Namespace: "default", JobID: "job", NodeID: node, TaskGroup: "g", DeploymentID: deployment, ClientStatus: rpc.AllocClientPending}
	}
	const one = `EvalsCreated:%d EvalsProcessed:0 EvalsCanceled:%d EvalsFailed:%d PlansSubmitted:0 MissedHeartbeats:0 NodesDown:%d EvalsCollected:%d NodesCollected:%d`
	count := func(n ...any) string { return fmt.Sprintf("{"+one+"}", n...) }
	created := count(1, 0, 0, 0, 0, 0)
	type cost = time.Duration
	const node, ev, al, plan, entry, deploys, gone, more cost = 1, 10, 100, 1000, 10000, 100000, 1000000, 10000000
	for _, tt := range []struct {
		name string
		c    Command
		cost cost
		want string // empty: it is refused
	}{
		{"job", JobRegister.With(&JobRegisterRequest{Job: job("new"), Eval: eval("x")}), entry + ev, "eval x; job new runs true; " + created},
		{"periodic job", JobRegister.With(&JobRegisterRequest{Job: job("new", func(j *rpc.Job) { j.Periodic = &rpc.PeriodicConfig{Every: time.Hour} })}), entry, "job new runs true"},
		{"launch", JobRegister.With(&JobRegisterRequest{Job: job("job/periodic-7", func(j *rpc.Job) { j.ParentID = "job" })}), entry, "job job/periodic-7 runs true"},
		{"launch at no time", JobRegister.With(&JobRegisterRequest{Job: job("job/periodic-x", func(j *rpc.Job) { j.ParentID = "job" })}), entry, ""},
		{"job without ID", JobRegister.With(&JobRegisterRequest{Job: job("")}), entry, ""},
		{"job with a nameless evaluation", JobRegister.With(&JobRegisterRequest{Job: job("new"), Eval: nameless[0]}), entry + ev, ""},
		{"stop", JobDeregister.With(&JobDeregisterRequest{Namespace: "default", JobID: "job", Eval: eval("x")}), entry + ev, "eval x; job job runs false; " + created},
		{"purge", JobDeregister.With(&JobDeregisterRequest{Namespace: "default", JobID: "job", Purge: true}), entry, "job job runs false"},
		{"scaling", ScalingEventRegister.With(&ScalingEventRequest{JobID: "job"}), entry, "nothing"},
		{"configuration", SchedulerConfig.With(&SchedulerConfigRequest{}), entry, "nothing"},
		{"node", NodeRegister.With(&rpc.NodeRegisterRequest{Node: &rpc.Node{ID: "new"}}), entry + node, "nothing"},
		{"node without ID", NodeRegister.With(&rpc.NodeRegisterRequest{Node: &rpc.Node{}}), entry + node, ""},
		{"down", NodeUpdateStatus.With(&rpc.NodeUpdateStatusRequest{NodeID: "n", Status: rpc.NodeStatusDown}), entry + node, count(0, 0, 0, 1, 0, 0)},
		{"ready", NodeUpdateStatus.With(&rpc.NodeUpdateStatusRequest{NodeID: "n", Status: rpc.NodeStatusReady}), entry + node, "room on n"},
		{"status of nobody", NodeUpdateStatus.With(&rpc.NodeUpdateStatusRequest{NodeID: "who"}), entry + node, ""},
		{"events", UpsertNodeEvents.With(&EmitNodeEventsRequest{Nodes: []NodeEvents{{NodeID: "m"}, {NodeID: "n"}}}), entry + 2*node, "nothing"},
		{"events of nobody", UpsertNodeEvents.With(&EmitNodeEventsRequest{Nodes: []NodeEvents{{NodeID: "who", Events: make([]state.NodeEvent, 1)}}}), entry + node, ""},
		{"eligible", NodeUpdateEligibility.With(&NodeUpdateEligibilityRequest{NodeID: "m", Eligibility: rpc.NodeEligible}), entry + node, "room on m"},
		{"eligibility of nobody", NodeUpdateEligibility.With(&NodeUpdateEligibilityRequest{NodeID: "who"}), entry + node, ""},
		{"drain", NodeUpdateDrain.With(&NodeUpdateDrainRequest{NodeID: "n", Drain: &rpc.DrainStrategy{}}), entry + node, "drain of n"},
		{"drains done", BatchNodeUpdateDrain.With(&BatchNodeUpdateDrainRequest{NodeIDs: []string{"n", "m"}}), entry + 2*node, "drain of n; drain of m"},
		{"drain of nobody done", BatchNodeUpdateDrain.With(&BatchNodeUpdateDrainRequest{NodeIDs: []string{"who"}}), entry + node, ""},
		{"evaluations", EvalUpdate.With(&EvalUpdateRequest{Evals: []*broker.Evaluation{eval("x"), as("e", broker.StatusFailed)}}), entry + 2*ev, "eval x; eval e; " + count(1, 0, 1, 0, 0, 0)},
		{"evaluation that ends a blocked one", EvalUpdate.With(&EvalUpdateRequest{Evals: []*broker.Evaluation{as("e", broker.StatusComplete)}}), entry + ev, "eval e; " + count(0, 1, 0, 0, 0, 0)},
		{"many nameless evaluations", EvalUpdate.With(&EvalUpdateRequest{Evals: slices.Repeat(nameless, 12)}), entry + 10*ev + 2*more, ""},
		{"nameless evaluation", EvalUpdate.With(&EvalUpdateRequest{Evals: nameless}), entry + ev, ""},
		{"plan", ApplyPlanResults.With(&state.PlanResults{EvalID: "e", AllocsStopped: []state.AllocDiff{{ID: "a"}}, AllocsUpdated: []*rpc.Allocation{alloc("x", "n", "")}}), entry + plan + 2*al, "allocations"},
		{"plan that places for a deployment", ApplyPlanResults.With(&state.PlanResults{AllocsUpdated: []*rpc.Allocation{alloc("x", "n", "d"), alloc("y", "n", "d")}}), entry + plan + 2*al, "deployment of job; allocations"},
		{"plan that begins one", ApplyPlanResults.With(&state.PlanResults{Deployment: &rpc.Deployment{ID: "new", Namespace: "default", JobID: "job"}}), entry + plan + deploys, "deployment of job; allocations"},
		{"plan that ends one", ApplyPlanResults.With(&state.PlanResults{DeploymentUpdates: []*rpc.DeploymentUpdate{update("d")}}), entry + plan + deploys, "deployment of job; allocations"},
		{"plan of nobody's", ApplyPlanResults.With(&state.PlanResults{EvalID: "who"}), entry + plan, ""},
		{"reports", AllocClientUpdate.With(&AllocClientUpdateRequest{Alloc: []*rpc.Allocation{{ID: "a", NodeID: "n", ClientStatus: rpc.AllocClientFailed, Health: rpc.AllocUnhealthy}}, Evals: []*broker.Evaluation{eval("x")}}), entry + al,
			"eval x; deployment of job; health of a; allocations; room on n; " + created},
		{"reports without health", AllocClientUpdate.With(&AllocClientUpdateRequest{Alloc: []*rpc.Allocation{{ID: "a", NodeID: "n", ClientStatus: rpc.AllocClientRunning}}}), entry + al, "allocations"},
		{"reports of what is gone", AllocClientUpdate.With(&AllocClientUpdateRequest{Alloc: []*rpc.Allocation{{ID: "who", Health: rpc.AllocHealthy}}}), entry + al, "allocations"},
		{"reports with a nameless evaluation", AllocClientUpdate.With(&AllocClientUpdateRequest{Evals: nameless}), entry, ""},
		{"transitions", AllocUpdateDesiredTransition.With(&DesiredTransitionRequest{Migrate: []string{"a"}, Evals: []*broker.Evaluation{eval("x")}}), entry + ev, "eval x; " + created},
		{"transitions with a nameless evaluation", AllocUpdateDesiredTransition.With(&DesiredTransitionRequest{Evals: nameless}), entry + ev, ""},
		{"end of a deployment", DeploymentStatusUpdate.With(&DeploymentStatusRequest{Update: update("d"), Eval: eval("x")}), entry + ev, "eval x; deployment of job; " + created},
		{"end of a deployment, nameless", DeploymentStatusUpdate.With(&DeploymentStatusRequest{Update: update("d"), Eval: nameless[0]}), entry + ev, ""},
		{"collection", EvalDelete.With(&EvalDeleteRequest{Evals: []string{"e", "who"}, Allocs: []string{"a", "who"}}), entry + 2*ev + 2*gone, count(0, 0, 0, 0, 1, 0)},
		{"forgotten jobs", JobBatchDeregister.With(&JobBatchDeregisterRequest{Jobs: []broker.JobID{{Namespace: "default", ID: "job"}}, Evals: []*broker.Evaluation{eval("x")}}), entry + ev, "eval x; job job runs false; " + created},
		{"forgotten nodes", NodeBatchDeregister.With(&NodeBatchDeregisterRequest{NodeIDs: []string{"m", "n"}}), entry + 2*node, "drain of m; drain of n; " + count(0, 0, 0, 0, 0, 2)},
		{"forgotten nobody", NodeBatchDeregister.With(&NodeBatchDeregisterRequest{NodeIDs: []string{"who"}}), entry + node, ""},
		{"forgotten deployments", DeploymentDelete.With(&DeploymentDeleteRequest{Deployments: []string{"d", "who"}}), entry, "nothing"},
		{"tokens", OneTimeTokenExpire.With(&OneTimeTokenExpireRequest{}), entry, "nothing"},
		{"silent nodes", NodesDown.With(&NodesDownRequest{Nodes: []rpc.NodeUpdateStatusRequest{{NodeID: "n", Status: rpc.NodeStatusDown}, {NodeID: "m", Status: rpc.NodeStatusDown}}, Evals: []*broker.Evaluation{eval("x")}}), entry + 2*node + ev, "eval x; " + count(1, 0, 0, 2, 0, 0)},
		{"silent nobody", NodesDown.With(&NodesDownRequest{Nodes: []rpc.NodeUpdateStatusRequest{{NodeID: "who"}}}), entry + node, ""},
		{"silent nodes with a nameless evaluation", NodesDown.With(&NodesDownRequest{Evals: nameless}), entry + ev, ""},
	} {
		s := state.New()
		err := s.Update(5, func(tx *state.Tx) error {
			return errors.Join(
				tx.UpsertNode(&rpc.Node{ID: "n", Status: rpc.NodeStatusReady}), tx.UpsertNode(&rpc.Node{ID: "m"}), tx.UpsertJob(job("job")),
				tx.UpsertDeployment(&rpc.Deployment{ID: "d", Namespace: "default", JobID: "job", Status: rpc.DeploymentRunning, Groups: []rpc.DeploymentGroup{{Name: "g"}}}),
				tx.UpsertPlanResults(&state.PlanResults{AllocsUpdated: []*rpc.Allocation{alloc("a", "n", "d")}}),
				tx.UpsertEvals(eval("e"), as("f", broker.StatusBlocked), as("over", broker.StatusFailed), as("shed", broker.StatusCanceled)))
		})
		if err != nil {
			t.Fatal(err)
		}
		data, err := tt.c.Encode()
		if err != nil {
			t.Fatal(err)
		}
		l := &raft.Log{Index: 9, Type: raft.LogCommand, Data: data}
		c, err := Decode(data)
		if err != nil || c.Type != tt.c.Type || TypeOf(l) != tt.c.Type {
			t.Fatalf("%s: came through the log as %v of %v: %v", tt.name, c.Type, TypeOf(l), err)
		}
		if got := c.Cost(config.FSMCosts{Entry: entry, Node: node, Eval: ev, MoreEvals: more, Alloc: al, Plan: plan, Deployment: deploys, Gone: gone}, s).Total(); got != tt.cost {
			t.Errorf("%s: costs %d, want %d", tt.name, got, tt.cost)
		}
		fx, err := c.Apply(s, 9)
		if (err != nil) != (tt.want == "") || err != nil && (s.Index() != 5 || fx != nil) {
			t.Errorf("%s: error %v, state at %d", tt.name, err, s.Index())
			continue
		}
		if err == nil {
			if got := summary(fx); got != strings.TrimPrefix(tt.want, "nothing") || s.Index() != 9 {
				t.Errorf("%s: means\n%q, want\n%q", tt.name, got, tt.want)
			}
			for _, e := range fx.Evals {
				withJob := c.Type == JobRegister.Type || c.Type == JobDeregister.Type || c.Type == JobBatchDeregister.Type
				if e.ModifyIndex != 9 || (e.JobModifyIndex == 9) != withJob {
					t.Errorf("%s: evaluation %s was changed at %d for the job's change at %d", tt.name, e.ID, e.ModifyIndex, e.JobModifyIndex)
				}
			}
		}
	}
}

// TestRequestOfACommand: a command gives out its request to who asks for its type, and to nobody else.
func TestRequestOfACommand(t *testing.T) {
	req := &rpc.NodeUpdateStatusRequest{NodeID: "n"}
	c := NodeUpdateStatus.With(req)
	if got, ok := NodeUpdateStatus.Of(c); !ok || got != req {
		t.Errorf("the request is %+v: %v", got, ok)
	}
	if got, ok := NodeRegister.Of(c); ok {
		t.Errorf("as another type it is %+v", got)
	}
	of := map[reflect.Type]string{}
	for _, k := range kinds {
		if k.request != nil && of[k.request] != "" {
			t.Errorf("%s and %s share the request %v", of[k.request], k.name, k.request)
		}
		of[k.request] = k.name
	}
}

// TestWhatIsNoEntry: what cannot be read is no command.
func TestWhatIsNoEntry(t *testing.T) {
	for _, data := range [][]byte{nil, {0}, {255}, {byte(raftNoop)}, {byte(EvalUpdate.Type)}, {byte(JobRegister.Type), 0xc1}, {byte(JobRegister.Type)}} {
		if c, err := Decode(data); err == nil {
			t.Errorf("%x is %+v", data, c)
		}
	}
	for _, tt := range []struct {
		l    raft.Log
		want string
	}{
		{raft.Log{Type: raft.LogNoop}, "raft:Noop"}, {raft.Log{Type: raft.LogBarrier}, "raft:Barrier"}, {raft.Log{Type: raft.LogConfiguration}, "raft:Configuration"},
		{raft.Log{Data: []byte{byte(EvalDelete.Type)}}, "EvalDeleteRequestType"},
		{raft.Log{}, "Type(0)"}, {raft.Log{Data: []byte{255}}, "Type(0)"}, {raft.Log{Data: []byte{byte(raftNoop)}}, "Type(0)"},
	} {
		if got := TypeOf(&tt.l).String(); got != tt.want {
			t.Errorf("%+v is %s, want %s", tt.l, got, tt.want)
		}
	}
	if got := Type(255).String(); got != "Type(255)" || Type(255).Applied() {
		t.Errorf("%s is applied: %v", got, Type(255).Applied())
	}
}

// TestLedger: an entry counts once, whichever server applies it first, and events count as often
// as they happen.
func TestLedger(t *testing.T) {
	var l Ledger
	entry := Counters{EvalsCreated: 1, EvalsCanceled: 2, EvalsFailed: 3, NodesDown: 4, EvalsCollected: 5, NodesCollected: 6}
	for _, index := range []uint64{7, 7, 6, 8, 7} {
		l.Apply(index, entry)
	}
	_, before := l.Read()
	l.Because(EvalProcessed, EvalProcessed, PlanSubmitted, LeaderElected, PlanEmpty)
	l.HeartbeatMissed()
	got, after := l.Read()
	if want := (Counters{2, 2, 4, 6, 1, 1, 8, 10, 12}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	lines := fmt.Sprint(after.Since(before))
	if want := "[{EvalUpdateRequestType evaluations processed 2} {ApplyPlanResultsRequestType plans submitted 1} " +
		"{ApplyPlanResultsRequestType of these refused whole -1} {raft:Noop leaders elected 1}]"; lines != want {
		t.Errorf("since:\n%s, want\n%s", lines, want)
	}
	if again := after.Since(after); len(again) > 0 {
		t.Errorf("since itself: %v", again)
	}
}

// TestTimeTablesThatBreak: a table that cannot be written, or read to its end, says so.
func TestTimeTablesThatBreak(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	table := NewTimeTable(time.Minute)
	table.Witness(5, at)
	table.Witness(5, at.Add(time.Hour)) // as after a restart
	if got := table.Nearest(at.Add(time.Hour)); got != 5 || len(table.entries) != 2 {
		t.Errorf("nearest is %d of %v", got, table.entries)
	}
	table.Witness(4, at.Add(2*time.Hour))
	if len(table.entries) != 2 {
		t.Errorf("an older entry was noted: %v", table.entries)
	}
	var whole bytes.Buffer
	if err := table.Persist(&whole); err != nil {
		t.Fatal(err)
	}
	for n := range whole.Len() {
		if err := table.Persist(&shortWriter{n}); err == nil {
			t.Errorf("written to a disk with room for %d of %d bytes", n, whole.Len())
		}
		cut := NewTimeTable(time.Minute)
		if err := cut.Restore(bytes.NewReader(whole.Bytes()[:n])); err == nil || len(cut.entries) > 0 {
			t.Errorf("read from %d of %d bytes: %v", n, whole.Len(), cut.entries)
		}
	}
	if err := table.Restore(iotest.ErrReader(errors.New("no disk"))); err == nil || len(table.entries) != 2 {
		t.Errorf("read from no disk: %v, %v", table.entries, err)
	}
}

// shortWriter has room for n bytes.
type shortWriter struct{ n int }

func (w *shortWriter) Write(b []byte) (int, error) {
	if w.n -= len(b); w.n < 0 {
		return 0, errors.New("full")
	}
	return len(b), nil
}

// TestEveryDrainEnds: one entry ends the drains of all its nodes.
func TestEveryDrainEnds(t *testing.T) {
	s := state.New()
	err := s.Update(1, func(tx *state.Tx) error {
		return errors.Join(tx.UpsertNode(&rpc.Node{ID: "n", Drain: &rpc.DrainStrategy{}}), tx.UpsertNode(&rpc.Node{ID: "m", Drain: &rpc.DrainStrategy{}}))
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := BatchNodeUpdateDrain.With(&BatchNodeUpdateDrainRequest{NodeIDs: []string{"n", "m"}}).Apply(s, 2); err != nil {
		t.Fatal(err)
	}
	for n := range s.Snapshot().Nodes() {
		if n.Drain != nil {
			t.Errorf("%s drains still", n.ID)
		}
	}
}

// TestWalk holds that an entry costs by the size of the state from 1,251 deleted evaluations on, and that
// those that are gone already do not count.
func TestWalk(t *testing.T) {
	const there = 2000
	evals := make([]*broker.Evaluation, there)
	ids := make([]string, 2*there)
	for i := range ids {
		ids[i] = fmt.Sprintf("%04d", i)
		if i < there {
			evals[i] = &broker.Evaluation{ID: ids[i]}
		}
	}
	s := state.New()
	if err := s.Update(5, func(tx *state.Tx) error { return tx.UpsertEvals(evals...) }); err != nil {
		t.Fatal(err)
	}
	const walk = 10_000_000
	for _, c := range []struct {
		evals, allocs []string
		want          time.Duration
	}{
		{ids[:1250], nil, 1250 * 1000},
		{ids[:1251], nil, 1251*1000 + there*walk},
		{ids[there:], nil, there},
		{ids[there-1250:], nil, 1250*1000 + there},
		{ids[there-1251:], ids[:7], 1251*1000 + there + 7 + there*walk},
	} {
		del := EvalDelete.With(&EvalDeleteRequest{Evals: c.evals, Allocs: c.allocs})
		if got := del.Cost(config.FSMCosts{Gone: 1, Eval: 1000, Walk: walk}, s).Total(); got != c.want {
			t.Errorf("deleting %d evaluations from %s on and %d allocations costs %d, want %d", len(c.evals), c.evals[0], len(c.allocs), got, c.want)
		}
	}
}

// TestAllocationsThatCostOtherwise: those that a plan places and those that clients report cost what is said of them.
func TestAllocationsThatCostOtherwise(t *testing.T) {
	s := state.New()
	costs := config.FSMCosts{Alloc: 1, Stop: 10, Place: 100, Report: 1000}
	placed := ApplyPlanResults.With(&state.PlanResults{AllocsUpdated: []*rpc.Allocation{{}, {}, {}}})
	reported := AllocClientUpdate.With(&AllocClientUpdateRequest{Alloc: []*rpc.Allocation{{}, {}}})
	if got, want := placed.Cost(costs, s), (config.Work{Many: 300}); got != want {
		t.Errorf("three placements: %+v, want %+v", got, want)
	}
	if got, want := reported.Cost(costs, s), (config.Work{Few: 2000}); got != want {
		t.Errorf("two reports: %+v, want %+v", got, want)
	}
	costs.Place, costs.Report = 0, 0
	if got, want := placed.Cost(costs, s).Total()+reported.Cost(costs, s).Total(), time.Duration(5); got != want {
		t.Errorf("all alike: %v, want %v", got, want)
	}
}
