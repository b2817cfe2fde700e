package config

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

func TestParseVersion(t *testing.T) {
	for text, ok := range map[string]bool{
		"1.4.2": true, "1.10.4": true, "2.0.5": true, "1.4.1": false, "2.0.6": false, "1.4": false, "1.4.3.1": false,
		"1.04.3": false, "v1.4.3": false, "": false, "current": false, "1.-4.3": false, "1.4.3-rc.1": false,
	} {
		v, err := ParseVersion(text)
		if (err == nil) != ok || ok && v.String() != text {
			t.Errorf("%q: %v, %v", text, v, err)
		}
	}
}

func TestChangesAreInReleases(t *testing.T) {
	for _, c := range []struct {
		pull int
		in   []Version
		not  []Version
	}{
		{15068, []Version{{1, 4, 3}, {1, 4, 4}, {2, 0, 5}}, []Version{{1, 4, 2}}},
		{15808, []Version{{1, 4, 5}, {1, 4, 14}, {1, 5, 0}}, []Version{{1, 4, 4}}},
		{18200, []Version{{1, 4, 13}, {1, 5, 9}, {1, 6, 2}, {1, 7, 0}}, []Version{{1, 4, 12}, {1, 5, 8}, {1, 6, 1}}},
		{23858, []Version{{1, 8, 4}, {1, 9, 0}}, []Version{{1, 8, 3}, {1, 7, 9}}},
		{27129, []Version{{1, 11, 1}, {2, 0, 0}}, []Version{{1, 8, 1}, {1, 11, 0}}},
		{28249, []Version{{2, 0, 5}}, []Version{{2, 0, 4}}},
	} {
		at := slices.IndexFunc(changes, func(x Change) bool { return x.Pull == c.pull })
		for i, v := range slices.Concat(c.in, c.not) {
			if got, want := changes[at].In(v), i < len(c.in); got != want {
				t.Errorf("#%d in %v: %v, want %v", c.pull, v, got, want)
			}
		}
	}
	seen := map[string]bool{}
	last := oldest
	for _, c := range changes {
		latest := c.Since[len(c.Since)-1]
		if seen[c.What] || c.What == "" || c.Where == "" || c.Counts == "" || !slices.IsSortedFunc(c.Since, Version.Compare) || latest.Compare(last) < 0 || latest.Compare(newest) > 0 {
			t.Errorf("#%d is incomplete, out of order or there twice: %+v", c.Pull, c)
		}
		seen[c.What], last = true, latest
	}
}

// TestHabits: each change but that of the policy makes its release different from the one
// before, and the oldest has none.
func TestHabits(t *testing.T) {
	if HabitsOf(oldest) != (Habits{}) {
		t.Errorf("%v has habits: %+v", oldest, HabitsOf(oldest))
	}
	var h Habits
	for _, c := range changes {
		if before := h; c.apply != nil {
			if c.apply(&h); h == before {
				t.Errorf("#%d changes nothing", c.Pull)
			}
		}
	}
	if got := HabitsOf(newest); got != h {
		t.Errorf("%v has %+v, want all: %+v", newest, got, h)
	}
	if got, want := HabitsOf(Version{1, 4, 4}), (Habits{CountsEvals: true, AllocUpdates: UpdatesOfReady}); got != want {
		t.Errorf("1.4.4 has %+v, want %+v", got, want)
	}
}

func TestLaddersAndBackoffs(t *testing.T) {
	for _, c := range []struct {
		doubling         bool
		ladder, backoffs string
	}{
		{false, "[20ms 320ms 1s 1s 1s 1s 1s 1s]", "[20ms 80ms 320ms 1.28s 5.12s 10s]"},
		{true, "[20ms 20ms 40ms 80ms 160ms 320ms 640ms 1s]", "[20ms 40ms 80ms 160ms 320ms 640ms]"},
	} {
		h := Habits{Doubling: c.doubling}
		var ladder, backoffs []time.Duration
		for n := range 8 {
			ladder = append(ladder, h.Ladder(n))
		}
		for n := range 6 {
			backoffs = append(backoffs, h.Backoff(20*time.Millisecond, 10*time.Second, n))
		}
		if got := fmt.Sprint(ladder); got != c.ladder {
			t.Errorf("doubling %v: ladder %s, want %s", c.doubling, got, c.ladder)
		}
		if got := fmt.Sprint(backoffs); got != c.backoffs {
			t.Errorf("doubling %v: back-offs %s, want %s", c.doubling, got, c.backoffs)
		}
	}
}
