package scenarios

import (
	"fmt"
	"strconv"
	"time"

	"github.com/simctl/simctl/cluster"
)

// The words of scenario files: each stands for a struct that its block fills, and for what
// becomes of that.

// clusterWords is a cluster block.
type clusterWords struct {
	Servers             int `lang:"min=1,max=15"` // as many as the log writer keeps apart (cluster, handOver)
	Schedulers          int `lang:"max=1024"`
	Cores               int `lang:"max=1024"` // 0 = as the costs say
	BatchUpdateInterval time.Duration
	Heartbeat           cluster.HeartbeatConfig
	Reaper              cluster.ReaperConfig
	Evaluations         cluster.EvalConfig
	Raft                cluster.RaftConfig
	Garbage             cluster.GCConfig
	PlanRejection       cluster.PlanRejectionConfig
	// Brokers are those that differ from their policy's in more than it.
	Brokers []brokerWord `lang:"name=broker"`
	// DatacenterFilter leaves out the evaluations of system jobs that do not run in a
	// changed node's datacenter.
	DatacenterFilter bool
	// PauseEndsFailedReaper is a defect of Nomad's.
	PauseEndsFailedReaper bool
}

// defaultCluster has Nomad's defaults (nomad/config.go of 1.4.3), said here so that they
// can be scaled.
var defaultCluster = clusterWords{
	Servers:             3,
	DatacenterFilter:    true,
	Garbage:             cluster.GCConfig{}.Scaled(1),
	PlanRejection:       cluster.PlanRejectionConfig{Threshold: 100, Window: 5 * time.Minute},
	BatchUpdateInterval: 50 * time.Millisecond,
	Heartbeat: cluster.HeartbeatConfig{
		MinTTL: 10 * time.Second, MaxPerSecond: 50, Grace: 10 * time.Second, FailoverTTL: 300 * time.Second,
	},
	Reaper: cluster.ReaperConfig{Interval: 5 * time.Second, Batch: 728},
	Evaluations: cluster.EvalConfig{
		NackTimeout: 60 * time.Second, InitialNackDelay: time.Second, SubsequentNackDelay: 20 * time.Second,
		DeliveryLimit: 3, FailedFollowupBaseline: time.Minute, FailedFollowupRange: 5 * time.Minute,
	},
	// A snapshot of the Raft log changes no figure, costs no virtual time, and takes a
	// second of real time on each server every 8192 entries: this is more entries than any
	// run writes.
	Raft: cluster.RaftConfig{SnapshotThreshold: 1 << 62},
}

// word is a keyword: the struct that its block fills, and what that stands for.
type word[T any] struct {
	defaults any
	build    func(args any, b *builder) (T, error)
}

// means makes a word of the defaults of its block and of what becomes of a filled copy.
func means[A, T any](defaults A, build func(A, *builder) (T, error)) word[T] {
	return word[T]{&defaults, func(args any, b *builder) (T, error) { return build(*args.(*A), b) }}
}

// event makes a word of an Action whose fields are what its block says.
func event[A Action](defaults A) word[Action] {
	return means(defaults, func(a A, _ *builder) (Action, error) { return a, nil })
}

// condition does the same for a Condition.
func condition[C Condition](defaults C) word[Condition] {
	return means(defaults, func(c C, _ *builder) (Condition, error) { return c, nil })
}

func defaultsOf[T any](words map[string]word[T]) map[string]any {
	out := map[string]any{}
	for name, w := range words {
		out[name] = w.defaults
	}
	return out
}

// eventWords are the events there are.
var eventWords = map[string]word[Action]{
	"register_jobs":  means(jobsWord{}, jobsWord.build),
	"start_clients":  event(StartClients{}),
	"schedulers":     event(SetSchedulers{}),
	"stop_clients":   means(stopClientsWord{Fraction: 1}, stopClientsWord.build),
	"resume_clients": means(resumeClientsWord{}, resumeClientsWord.build),
	"flap_clients":   event(FlapClients{Fraction: 1, Times: 1}),
	"kill_server":    event(KillServer{}),
	"start_server":   event(StartServer{}),
	"pause_server":   event(PauseServer{}),
	"kill_leader":    means(lastingWord{}, func(w lastingWord, _ *builder) (Action, error) { return KillServer{Leader, w.For}, nil }),
	"pause_leader":   means(lastingWord{}, func(w lastingWord, _ *builder) (Action, error) { return PauseServer{Leader, w.For}, nil }),
	"partition":      event(Partition{}),
	"link_delay":     event(LinkDelay{}),
	"link_loss":      event(LinkLoss{}),
	"slow_disk":      event(SlowDisk{}),
	"slow_apply":     event(SlowApply{}),
	"crash_workers":  event(CrashWorkers{Evals: 1}),
	"stick_applier":  event(StickApplier{Server: Leader}),
	"skew_clocks":    event(SkewClocks{Rate: 1}),
	"heal":           event(Heal{}),

	"begin": means(beginWord{}, beginWord.build),
	"end":   event(EndBehaviour{}),

	"update_job":         means(updateJobWord{}, updateJobWord.build),
	"stop_job":           means(stopJobWord{}, stopJobWord.build),
	"scale_job":          means(scaleJobWord{}, scaleJobWord.build),
	"fail_allocs":        means(failAllocsWord{}, failAllocsWord.build),
	"drain_nodes":        means(drainWord{}, drainWord.build),
	"end_drains":         means(endDrainsWord{}, endDrainsWord.build),
	"node_events":        event(NodeEvents{Fraction: 1, Events: 1}),
	"launch_job":         means(launchJobWord{}, launchJobWord.build),
	"set_eligibility":    means(eligibilityWord{}, eligibilityWord.build),
	"pause_eval_broker":  event(PauseEvalBroker{}),
	"resume_eval_broker": event(ResumeEvalBroker{}),
	"collect_garbage":    event(CollectGarbage{}),
}

// conditionWords are the conditions there are.
var conditionWords = map[string]word[Condition]{
	"registered": condition(Registered{For: 3 * time.Second}),
	"recovered":  condition(Recovered{For: quiet}),
	"settled":    condition(Settled{For: quiet}),
	"elapsed":    condition(Elapsed{}),
	"queue":      means(QueueDepth{}, func(c QueueDepth, _ *builder) (Condition, error) { return c, c.check() }),
	"evals":      condition(EvalsCreated{}),
}

// lastingWord is an event that says nothing but how long it lasts.
type lastingWord struct{ For time.Duration }

// UnmarshalText reads a server as a file names it: leader, follower, or its number, counted
// from 1.
func (s *Server) UnmarshalText(text []byte) error {
	switch string(text) {
	case "leader":
		*s = Leader
		return nil
	case "follower":
		*s = Follower
		return nil
	}
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 1 {
		return fmt.Errorf(`%q is no server: it must be "leader", "follower" or a number from 1`, text)
	}
	*s = Server(n - 1)
	return nil
}
