package cluster

import (
	"context"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
)

// Jobs of the core scheduler (structs.go, CoreJob*). The rest of Nomad's have nothing to
// collect here.
const (
	coreEvalGC       = "eval-gc"
	coreNodeGC       = "node-gc"
	coreJobGC        = "job-gc"
	coreOneTimeToken = "one-time-token-gc"
	coreForceGC      = "force-gc"

	coreNamespace = "-"
	corePriority  = 200 // twice the highest of jobs
)

// GCConfig is how the leader collects what is over (nomad/config.go).
type GCConfig struct {
	Interval        time.Duration // of each kind; zero means 5 min
	TokenInterval   time.Duration // of one-time tokens; zero means 10 min
	EvalThreshold   time.Duration // zero means 1 h
	JobThreshold    time.Duration // zero means 4 h
	NodeThreshold   time.Duration // zero means 24 h
	TimeGranularity time.Duration // how exactly the age of an entry is known; zero means 5 min
}

// scheduleCore enqueues an evaluation of each core job now and then, without the log: it
// is lost with the broker, and the next one makes up for it (nomad/leader.go,
// schedulePeriodic).
func (s *server) scheduleCore(ctx context.Context, loops *loopGroup) {
	gc := s.cfg.GC
	for i, job := range []struct {
		id    string
		every time.Duration
	}{{coreEvalGC, gc.Interval}, {coreNodeGC, gc.Interval}, {coreJobGC, gc.Interval}, {coreOneTimeToken, gc.TokenInterval}} {
		loops.run(func() {
			// Nomad's tick all at one instant, in any order; a microsecond apart keeps the order.
			sleepContext(ctx, time.Duration(i+1)*time.Microsecond)
			ticker := time.NewTicker(job.every)
			defer ticker.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-ticker.C:
					s.evals.Enqueue(s.coreEval(job.id))
				}
			}
		})
	}
}

func (s *server) coreEval(job string) *broker.Evaluation {
	return &broker.Evaluation{
		ID: s.uuid("core-eval", job), Namespace: coreNamespace, JobID: job, Type: rpc.JobTypeCore, Priority: corePriority,
		TriggeredBy: broker.TriggeredByScheduled, Status: broker.StatusPending, ModifyIndex: s.store.Index(),
	}
}

// ForceGC makes the cluster collect everything that is over, however new it is
// (nomad/system_endpoint.go, GarbageCollect). It returns before that is done.
func (c *Cluster) ForceGC(ctx context.Context) error {
	_, err := userCall(ctx, c, "System.GarbageCollect", "gc", func(l *server) (struct{}, error) {
		l.evals.Enqueue(l.coreEval(coreForceGC))
		return struct{}{}, nil
	})
	return err
}
