package cpu

import (
	"testing"
	"time"

	"github.com/simctl/simctl/internal/virtualtest"
)

func TestUsageIsThatSinceTheLastLook(t *testing.T) {
	t0 := time.Unix(100, 0)
	u := Usage{at: t0}
	for i, look := range []struct {
		after    time.Duration
		used, of time.Duration
		want     float64
	}{
		{1 * time.Second, 1 * time.Second, 4 * time.Second, 0.25},
		{1 * time.Second, 1 * time.Second, 4 * time.Second, 0.25}, // another look at one instant
		{2 * time.Second, 5 * time.Second, 8 * time.Second, 1},
		{3 * time.Second, 5 * time.Second, 12 * time.Second, 0},
		{4 * time.Second, 6 * time.Second, 12 * time.Second, 0},         // there is none any more
		{5 * time.Second, 9 * time.Second, 12500 * time.Millisecond, 1}, // never more than there is
		{6 * time.Second, 9 * time.Second, 12500 * time.Millisecond, 0}, // there is none again
	} {
		if got := u.Look(t0.Add(look.after), look.used, look.of); got != look.want {
			t.Errorf("look %d: %g, want %g", i, got, look.want)
		}
	}
}

func TestWorkloadAddsUpWorkerTime(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		var w Workload
		w.Change(2, 0)
		time.Sleep(time.Second)
		w.Change(0, 1)
		time.Sleep(2 * time.Second)
		w.Change(-1, -1)
		time.Sleep(4 * time.Second)
		worked, served := w.Totals(time.Now())
		if worked != 2*time.Second || served != 10*time.Second {
			t.Errorf("worked %v of %v, want 2s of 10s", worked, served)
		}
	})
}
