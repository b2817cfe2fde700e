package run

import "testing"

func TestShare(t *testing.T) {
	for _, c := range []struct {
		p    Progress
		want float64
	}{
		{Progress{}, 0},
		{Progress{Phases: 4, PhaseIndex: 1, Done: 0.5}, 0.375},
		{Progress{Phases: 4, PhaseIndex: 3, Done: -1}, 0.75},
		{Progress{Phases: 4, PhaseIndex: 3, Done: 1}, 1},
	} {
		if got := c.p.Share(); got != c.want {
			t.Errorf("the share of %+v is %v, want %v", c.p, got, c.want)
		}
	}
}
