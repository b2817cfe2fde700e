package fsm

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/config"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

// What is written for users: jobs, scaling, and how schedulers are to work.

// JobRegisterRequest registers a job with the evaluation that places it; a periodic job
// has none.
type JobRegisterRequest struct {
	Job  *rpc.Job
	Eval *broker.Evaluation
	Time int64 // Unix nanoseconds
}

func (r *JobRegisterRequest) trailer() *[]byte { return &r.Job.Definition }

var JobRegister = Declare("JobRegisterRequestType",
	func(r *JobRegisterRequest, c config.FSMCosts, s *state.Store) config.Work {
		w := c.Evals(len(oneOrNone(r.Eval)), s.Snapshot().Rows())
		w.Few += c.Entry + c.Job
		return w
	},
	func(tx *state.Tx, r *JobRegisterRequest, fx *Effects) error {
		r.Job.SubmitTime = r.Time
		if err := tx.UpsertJob(r.Job); err != nil {
			return err
		}
		if err := noteLaunch(tx, r.Job, r.Time); err != nil {
			return err
		}
		fx.Jobs = []JobChange{{broker.JobID{Namespace: r.Job.Namespace, ID: r.Job.ID}, r.Job}}
		return writeJobEvals(tx, fx, oneOrNone(r.Eval)...)
	})

// What causes them.
var (
	JobRegistered = JobRegister.because("jobs registered")
	JobScaled     = JobRegister.because("jobs scaled")
	JobLaunched   = JobRegister.because("launches of periodic jobs")
)

// JobDeregisterRequest stops a job, or forgets it.
type JobDeregisterRequest struct {
	Namespace string
	JobID     string
	Purge     bool
	Eval      *broker.Evaluation
}

var JobDeregister = Declare("JobDeregisterRequestType",
	perEval(func(r *JobDeregisterRequest) int { return len(oneOrNone(r.Eval)) }),
	func(tx *state.Tx, r *JobDeregisterRequest, fx *Effects) error {
		forget := tx.StopJob
		if r.Purge {
			forget = tx.DeleteJob
		}
		if err := forget(r.Namespace, r.JobID); err != nil {
			return err
		}
		fx.Jobs = []JobChange{{broker.JobID{Namespace: r.Namespace, ID: r.JobID}, nil}}
		return writeJobEvals(tx, fx, oneOrNone(r.Eval)...)
	})

var JobStopped = JobDeregister.because("jobs stopped")

// ScalingEventRequest records that a user scaled a group, for people to read.
type ScalingEventRequest struct {
	Namespace string
	JobID     string
	TaskGroup string
	Count     int
	EvalID    string
	Time      int64 // Unix nanoseconds
}

// ScalingEventRegister has nothing to keep: nobody reads scaling events here, but Nomad
// writes the entry.
var ScalingEventRegister = Declare("ScalingEventRegisterRequestType", flat[ScalingEventRequest],
	func(*state.Tx, *ScalingEventRequest, *Effects) error { return nil })

var ScalingRecorded = ScalingEventRegister.because("jobs scaled")

// SchedulerConfigRequest replaces the scheduler configuration.
type SchedulerConfigRequest struct{ Config rpc.SchedulerConfig }

var SchedulerConfig = Declare("SchedulerConfigRequestType", flat[SchedulerConfigRequest],
	func(tx *state.Tx, r *SchedulerConfigRequest, _ *Effects) error {
		tx.SetSchedulerConfig(r.Config)
		return nil
	})

var SchedulerConfigured = SchedulerConfig.because("scheduler configurations set")

// LaunchSuffix stands between the ID of a periodic job and the Unix second of a launch in
// the ID of the job that is launched (structs.go, PeriodicLaunchSuffix).
const LaunchSuffix = "/periodic-"

// LaunchID is the ID of the job that a periodic one launches.
func LaunchID(parent string, at time.Time) string {
	return parent + LaunchSuffix + strconv.FormatInt(at.Unix(), 10)
}

// noteLaunch records when a periodic job was last launched, or first registered: what a
// new leader goes by (nomad/fsm.go, applyUpsertJob).
func noteLaunch(tx *state.Tx, job *rpc.Job, at int64) error {
	id := broker.JobID{Namespace: job.Namespace, ID: job.ID}
	if job.Periodic != nil && !job.Stop {
		tx.NoteLaunch(id, at, false)
		return nil
	}
	if job.ParentID == "" {
		return nil
	}
	_, second, _ := strings.Cut(job.ID, LaunchSuffix)
	launched, err := strconv.ParseInt(second, 10, 64)
	if err != nil {
		return fmt.Errorf("launched job %q has no time in its ID: %w", job.ID, err)
	}
	tx.NoteLaunch(broker.JobID{Namespace: job.Namespace, ID: job.ParentID}, time.Unix(launched, 0).UnixNano(), true)
	return nil
}
