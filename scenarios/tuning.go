package scenarios

import (
	"fmt"
	"strconv"
	"time"

	"github.com/simctl/simctl/cluster"
)

// Tuning are settings of the servers that an operator, or a patch, could change. Zero
// leaves each at Nomad's default (TuningDefaults).
type Tuning struct {
	MaxHeartbeatsPerSecond float64 `json:"max_heartbeats_per_second,omitempty"`
	MinHeartbeatTTLS       float64 `json:"min_heartbeat_ttl_s,omitempty"`
	HeartbeatGraceS        float64 `json:"heartbeat_grace_s,omitempty"`
	ReaperIntervalS        float64 `json:"reaper_interval_s,omitempty"`
	ReaperBatch            int     `json:"reaper_batch,omitempty"` // evaluations in one entry
}

// TuningDefaults returns what zeros of a Tuning stand for.
func TuningDefaults() Tuning {
	return Tuning{
		MaxHeartbeatsPerSecond: nomadHeartbeats.MaxPerSecond,
		MinHeartbeatTTLS:       nomadHeartbeats.MinTTL.Seconds(),
		HeartbeatGraceS:        nomadHeartbeats.Grace.Seconds(),
		ReaperIntervalS:        nomadReaper.Interval.Seconds(),
		ReaperBatch:            nomadReaper.Batch,
	}
}

// Bounds of a Tuning.
const (
	maxTuningS     = 86_400
	maxRate        = 1_000_000
	maxReaperBatch = 1_000_000
)

// validate returns an *InputError for the first value out of bounds; written so that a NaN is.
func (t Tuning) validate() error {
	for _, f := range []struct {
		flag  string
		value float64
		most  float64
	}{
		{"max-heartbeats-per-second", t.MaxHeartbeatsPerSecond, maxRate},
		{"min-heartbeat-ttl", t.MinHeartbeatTTLS, maxTuningS},
		{"heartbeat-grace", t.HeartbeatGraceS, maxTuningS},
		{"reaper-interval", t.ReaperIntervalS, maxTuningS},
	} {
		if !(f.value == 0 || f.value >= 0.001 && f.value <= f.most) {
			return &InputError{f.flag, formatFloat(f.value), fmt.Sprintf("it must be a number from 0.001 to %g, or 0 for Nomad's default", f.most)}
		}
	}
	if t.ReaperBatch < 0 || t.ReaperBatch > maxReaperBatch {
		return &InputError{"reaper-batch", strconv.Itoa(t.ReaperBatch),
			fmt.Sprintf("it must be a whole number from 1 to %d, or 0 for Nomad's default", maxReaperBatch)}
	}
	return nil
}

// flags calls add for every flag that the tuning of a command line consists of.
func (t Tuning) flags(add func(differs bool, flag, value string)) {
	add(t.MaxHeartbeatsPerSecond != 0, "max-heartbeats-per-second", formatFloat(t.MaxHeartbeatsPerSecond))
	add(t.MinHeartbeatTTLS != 0, "min-heartbeat-ttl", formatFloat(t.MinHeartbeatTTLS))
	add(t.HeartbeatGraceS != 0, "heartbeat-grace", formatFloat(t.HeartbeatGraceS))
	add(t.ReaperIntervalS != 0, "reaper-interval", formatFloat(t.ReaperIntervalS))
	add(t.ReaperBatch != 0, "reaper-batch", strconv.Itoa(t.ReaperBatch))
}

// apply puts the settings that are not zero into a cluster's.
func (t Tuning) apply(c *cluster.Config) {
	if t.MaxHeartbeatsPerSecond != 0 {
		c.Heartbeat.MaxPerSecond = t.MaxHeartbeatsPerSecond
	}
	if t.ReaperBatch != 0 {
		c.Reaper.Batch = t.ReaperBatch
	}
	for _, f := range []struct {
		field   *time.Duration
		seconds float64
	}{
		{&c.Heartbeat.MinTTL, t.MinHeartbeatTTLS},
		{&c.Heartbeat.Grace, t.HeartbeatGraceS},
		{&c.Reaper.Interval, t.ReaperIntervalS},
	} {
		if f.seconds != 0 {
			*f.field = time.Duration(f.seconds * float64(time.Second))
		}
	}
}
