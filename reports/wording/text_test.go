package wording

import (
	"testing"

	"github.com/simctl/simctl/metrics"
)

func TestHeadline(t *testing.T) {
	run := func(entries uint64, empty, recovery float64) *metrics.Result {
		return &metrics.Result{Phases: []metrics.Phase{
			{Name: "register", RaftEntries: 50, QueueEmptyS: -1, RecoveryS: -1},
			{Name: "drain", RaftEntries: entries, QueueEmptyS: empty, RecoveryS: recovery},
		}}
	}
	for _, tt := range []struct {
		older, newer *metrics.Result
		want         string
	}{
		{run(50193, 2400, 2400), run(128, 12, 350), "Drain: 99.7% fewer Raft entries, queue empty 200× sooner, recovered 6.9× sooner"},
		{run(100000, 100, 100), run(1, 100, 98), "Drain: 99.99% fewer Raft entries, queue empty at the same time, recovered at the same time"},
		{run(100, 100, 90), run(0, 0, 0), "Drain: 100% fewer Raft entries, queue empty at once instead of after 1:40, recovered at once instead of after 1:30"},
		{run(100, 0, 0), run(90, 0, 5), "Drain: 10% fewer Raft entries, recovered after 0:05.0 instead of at once"},
		{run(100, 10, 10), run(150, 20, 25), "Drain: 50% more Raft entries, queue empty 2.0× later, recovered 2.5× later"},
		{run(100, 10, 10), run(1240, 10, 10), "Drain: 12× as many Raft entries, queue empty at the same time, recovered at the same time"},
		{run(0, 10, -1), run(7, 10, 65), "Drain: 7 Raft entries instead of none, queue empty at the same time, recovered after 1:05 instead of never"},
		{run(100, 10, 10), run(90, -1, -1), "Drain: 10% fewer Raft entries, queue never empty instead of after 0:10, never recovered instead of after 0:10"},
		{run(100, -1, -1), run(90, -1, -1), "Drain: 10% fewer Raft entries"},
		{run(100, 10, 10), run(100, 10, 2), "Drain: as many Raft entries, queue empty at the same time, recovered 5.0× sooner"},
		{run(50, 10, 10), run(50, 10, -1), "Drain: as many Raft entries, queue empty at the same time, never recovered instead of after 0:10"},
		{run(100, -1, -1), run(100, -1, -1), "Register: as many Raft entries"},
		{&metrics.Result{}, run(1, 1, 1), ""},
		{run(1, 1, 1), &metrics.Result{Phases: []metrics.Phase{{Name: "other", RaftEntries: 7}}}, ""},
	} {
		if got := headline(tt.older, tt.newer); got != tt.want {
			t.Errorf("got  %q\nwant %q", got, tt.want)
		}
	}
}

// TestHeadlineOfAPhaseCutShort: nothing is said of a recovery that is left to a later phase.
func TestHeadlineOfAPhaseCutShort(t *testing.T) {
	older := &metrics.Result{Phases: []metrics.Phase{
		{Name: "empty", RaftEntries: 100, QueueEmptyS: 50, RecoveryS: 50}, {Name: "trail"},
	}}
	newer := &metrics.Result{Phases: []metrics.Phase{
		{Name: "empty", RaftEntries: 10, QueueEmptyS: 5, RecoveryS: -1}, {Name: "trail", RaftEntries: 6, RecoveryS: 40},
	}}
	if got, want := headline(older, newer), "Empty: 90% fewer Raft entries, queue empty 10× sooner"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestHeadlineOfOne(t *testing.T) {
	r := &metrics.Result{Phases: []metrics.Phase{
		{Name: "register", RaftEntries: 50, RecoveryS: -1},
		{Name: "drain", RaftEntries: 1060, EvalsProcessed: 9, RecoveryS: 70},
		{Name: "storm", RaftEntries: 7, EvalsProcessed: 1, RecoveryS: -1},
	}}
	if got, want := headlineOfOne(r), "Drain: recovered after 1:10 with 1,060 Raft entries; storm: never recovered with 7 Raft entries"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got := headlineOfOne(&metrics.Result{Phases: r.Phases[:1]}); got != "" {
		t.Errorf("a run with nothing to recover from has the headline %q", got)
	}
}

func TestFormats(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{Clock(0), "0:00.0"}, {Clock(4.24), "0:04.2"}, {Clock(9.96), "0:10"}, {Clock(59.6), "1:00"}, {Clock(2500), "41:40"},
		{Clock(3599.4), "59:59"}, {Clock(3599.6), "1:00:00"}, {Clock(-61), "-1:01"}, {Clock(100000), "27:46:40"},
		{Grouped(0), "0"}, {Grouped(-0.4), "0"}, {Grouped(999), "999"}, {Grouped(1000), "1,000"}, {Grouped(-1234567), "-1,234,567"},
		{SI(0), "0"}, {SI(999.6), "1k"}, {SI(49990), "50k"}, {SI(1234567), "1.23M"}, {SI(-2e9), "-2G"}, {SI(0.25), "0.25"},
		{Duration(0), "0 s"}, {Duration(0.00053), "530 µs"}, {Duration(0.9999), "1 s"}, {Duration(59.99), "1:00"},
		{Percent(0.125), "12.5%"}, {BytesSI(943718400), "944MB"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}
