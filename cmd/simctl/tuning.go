package main

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/simctl/simctl/scenarios"
)

// bindTuning adds the flags of what an operator, or a patch, could change in the servers.
func bindTuning(flags *pflag.FlagSet, t *scenarios.Tuning) {
	d := scenarios.TuningDefaults()
	seconds := func(value *float64, name, what string, otherwise float64) {
		flags.Var(newChecked(value, "duration", parseSeconds), name, fmt.Sprintf("%s (default %gs)", what, otherwise))
		flags.Lookup(name).DefValue = "" // zero stands for Nomad's
	}
	flags.Float64Var(&t.MaxHeartbeatsPerSecond, "max-heartbeats-per-second", 0,
		fmt.Sprintf("heartbeats that the leader spreads clients to (default %g)", d.MaxHeartbeatsPerSecond))
	seconds(&t.MinHeartbeatTTLS, "min-heartbeat-ttl", "shortest heartbeat TTL", d.MinHeartbeatTTLS)
	seconds(&t.HeartbeatGraceS, "heartbeat-grace", "time after the TTL before a node is down", d.HeartbeatGraceS)
	seconds(&t.ReaperIntervalS, "reaper-interval", "time between two batches of cancelable evaluations", d.ReaperIntervalS)
	flags.IntVar(&t.ReaperBatch, "reaper-batch", 0, fmt.Sprintf("most evaluations canceled in one Raft entry (default %d)", d.ReaperBatch))
}

// parseSeconds reads a duration, or a plain number of seconds, as seconds.
func parseSeconds(s string) (float64, error) {
	if v, err := strconv.ParseFloat(s, 64); err == nil {
		return v, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, errors.New("it must be a duration, such as 5s or 1.5 (seconds)")
	}
	return d.Seconds(), nil
}
