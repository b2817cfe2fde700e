package main

import (
	"strings"
	"testing"
	"time"

	"github.com/simctl/simctl/internal/virtualtest"
	"github.com/simctl/simctl/scenarios"
	"github.com/simctl/simctl/scenarios/forecast"
)

func TestStatusLines(t *testing.T) { virtualtest.Test(t, testStatusLines) }

func testStatusLines(t *testing.T) {
	var out strings.Builder
	s := newStatusLines(&out, []string{"legacy", "shedding"}, make([]forecast.Pace, 2))
	register := scenarios.Progress{Phase: "register", Phases: 3, Done: 0.5}
	storm := scenarios.Progress{Phase: "storm", PhaseIndex: 2, Phases: 3, Done: 0.1}
	later := storm
	later.Done = 0.5
	drain := scenarios.Progress{
		Phase: "drain", PhaseIndex: 1, Phases: 3, VirtualS: 1865.4, Pending: 49120, Cancelable: 7, Done: -1,
	}
	for _, step := range []struct {
		after time.Duration
		run   int
		p     scenarios.Progress
		want  string
	}{
		{0, 0, register, "legacy:   1/3 register at      0s      0 pending      0 cancelable\n"},
		{time.Second, 0, register, ""},
		{0, 1, register, "shedding: 1/3 register at      0s      0 pending      0 cancelable\n"},
		{time.Second, 0, drain, "legacy:   2/3 drain    at   31m5s  49120 pending      7 cancelable\n"},
		{statusEvery - 1, 0, drain, ""},
		{1, 0, drain, "legacy:   2/3 drain    at   31m5s  49120 pending      7 cancelable\n"},
		{0, 0, storm, "legacy:   3/3 storm    at      0s      0 pending      0 cancelable\n"},
		{30 * time.Second, 0, later, "legacy:   3/3 storm    at      0s      0 pending      0 cancelable 30 s left\n"},
	} {
		time.Sleep(step.after)
		out.Reset()
		s.update(step.run, step.p)
		if out.String() != step.want {
			t.Errorf("after %v run %d printed %q, want %q", step.after, step.run, out.String(), step.want)
		}
	}
}
