package scenarios

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestEveryVariableCanBeSetAndRead(t *testing.T) {
	values := map[Kind][2]string{Text: {"loopback", "published"}, Whole: {"7", "9"}, Number: {"0.25", "0.5"}, Bool: {"true", "false"}}
	spec := small("legacy")
	vars := spec.Variables()
	if len(vars) < 12 {
		t.Fatalf("only %d variables: %v", len(vars), vars)
	}
	for _, v := range vars {
		for _, value := range values[v.Kind] {
			if err := spec.Set(v.Name, value); err != nil {
				t.Errorf("set %s (%v) to %s: %v", v.Name, v.Kind, value, err)
			}
			if got := spec.Value(v.Name); got != value {
				t.Errorf("%s is %q after it was set to %q", v.Name, got, value)
			}
		}
		if v.Kind == Text {
			continue
		}
		if err := spec.Set(v.Name, "fast"); err == nil || !strings.Contains(err.Error(), `"fast"`) {
			t.Errorf("set %s to fast: error %v, want one that says so", v.Name, err)
		}
	}
	if err := spec.Set("noddes", "7"); err == nil {
		t.Error("a variable that does not exist can be set")
	}
}

func TestTuning(t *testing.T) {
	spec := small("legacy")
	if got := spec.Value("reaper_batch"); got != "728" {
		t.Errorf("the default reaper batch is %q, want Nomad's 728", got)
	}
	spec.Params.Tuning = Tuning{MaxHeartbeatsPerSecond: 200, MinHeartbeatTTLS: 20, HeartbeatGraceS: 30.5, ReaperIntervalS: 1, ReaperBatch: 5000}
	sc, err := spec.scenario()
	if err != nil {
		t.Fatal(err)
	}
	hb, reaper := sc.Cluster.Heartbeat, sc.Cluster.Reaper
	if hb.MaxPerSecond != 200 || hb.MinTTL != 20*time.Second || hb.Grace != 30500*time.Millisecond || hb.FailoverTTL != 300*time.Second {
		t.Errorf("heartbeats are %+v", hb)
	}
	if reaper.Interval != time.Second || reaper.Batch != 5000 {
		t.Errorf("the reaper is %+v", reaper)
	}
	line := spec.CommandLine()
	for _, part := range []string{"--max-heartbeats-per-second 200", "--min-heartbeat-ttl 20", "--heartbeat-grace 30.5", "--reaper-interval 1", "--reaper-batch 5000"} {
		if !strings.Contains(line, part) {
			t.Errorf("the command line %q lacks %q", line, part)
		}
	}
	for _, bad := range []Tuning{
		{MaxHeartbeatsPerSecond: -1}, {MinHeartbeatTTLS: math.NaN()}, {HeartbeatGraceS: math.Inf(1)}, {ReaperIntervalS: 1e-9}, {ReaperBatch: -1},
	} {
		spec.Params.Tuning = bad
		if err := spec.Validate(); err == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}

func TestTuningChangesRuns(t *testing.T) {
	run := func(tuning Tuning) (drain float64, missed uint64, storm float64) {
		spec := small("shedding")
		spec.Params.Nodes, spec.Params.SystemJobs, spec.Params.Tuning = 100, 3, tuning
		res, err := RunOne(t.Context(), spec, nil)
		if err != nil {
			t.Fatal(err)
		}
		return res.Phase("drain").RecoveryS, res.Phase("storm").MissedHeartbeats, res.Phase("storm").RecoveryS
	}
	drain, missed, storm := run(Tuning{})
	slowDrain, _, _ := run(Tuning{ReaperBatch: 10})
	if slowDrain < drain+10 {
		t.Errorf("batches of 10 recover in %g s, those of 728 in %g s", slowDrain, drain)
	}
	quickDrain, _, _ := run(Tuning{ReaperBatch: 10, ReaperIntervalS: 0.5})
	if quickDrain > slowDrain/2 {
		t.Errorf("a batch every 0.5 s recovers in %g s, one every 5 s in %g s", quickDrain, slowDrain)
	}
	_, lateMissed, late := run(Tuning{HeartbeatGraceS: 60})
	if missed != 100 || lateMissed != 100 || late < storm+45 {
		t.Errorf("with a grace of 60 s, %d nodes miss heartbeats and recovery takes %g s; with 10 s %d and %g s", lateMissed, late, missed, storm)
	}
	if _, _, slow := run(Tuning{MaxHeartbeatsPerSecond: 1}); slow < storm+30 {
		t.Errorf("at 1 heartbeat a second recovery takes %g s, at 50 %g s", slow, storm)
	}
}
