package leader

import (
	"context"
	"sync"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
)

// Jobs of the core scheduler (structs.go, CoreJob*). The rest of Nomad's have nothing to
// collect here.
const (
	CoreEvalGC       = "eval-gc"
	CoreNodeGC       = "node-gc"
	CoreJobGC        = "job-gc"
	CoreOneTimeToken = "one-time-token-gc"
	CoreForceGC      = "force-gc"

	coreNamespace = "-"
	corePriority  = 200 // twice the highest of jobs
)

// ScheduleCore enqueues an evaluation of each core job now and then, without the log: it
// is lost with the broker, and the next one makes up for it (nomad/leader.go,
// schedulePeriodic).
func (v *Evaluations) ScheduleCore(ctx context.Context, loops *sync.WaitGroup) {
	gc := v.cfg.GC
	for i, job := range []struct {
		id    string
		every time.Duration
	}{{CoreEvalGC, gc.Interval}, {CoreNodeGC, gc.Interval}, {CoreJobGC, gc.Interval}, {CoreOneTimeToken, gc.TokenInterval}} {
		loops.Go(func() {
			// Nomad's tick all at one instant, in any order; a microsecond apart keeps the order.
			Sleep(ctx, time.Duration(i+1)*time.Microsecond)
			ticker := time.NewTicker(job.every)
			defer ticker.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-ticker.C:
					v.Broker.Enqueue(v.coreEval(job.id))
				}
			}
		})
	}
}

func (v *Evaluations) coreEval(job string) *broker.Evaluation {
	return &broker.Evaluation{
		ID: v.log.NewID("core-eval", job), Namespace: coreNamespace, JobID: job, Type: rpc.JobTypeCore, Priority: corePriority,
		TriggeredBy: broker.TriggeredByScheduled, Status: broker.StatusPending, ModifyIndex: v.log.Snapshot().Index(),
	}
}

// ForceGC enqueues an evaluation that collects everything that is over, however new it is.
func (v *Evaluations) ForceGC() { v.Broker.Enqueue(v.coreEval(CoreForceGC)) }
