package leader

import (
	"fmt"
	"testing"
	"time"

	"github.com/simctl/simctl/cluster/internal/config"
)

func TestRejectionTracker(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	cfg := config.PlanRejectionConfig{Enabled: true, Threshold: 3, Window: time.Minute}
	times := func(t *Rejections, n int, every time.Duration) (bad int) {
		for range n {
			now = now.Add(every)
			if t.Add(now, "a") {
				bad++
			}
		}
		return bad
	}
	for _, tt := range []struct {
		name string
		do   func(*Rejections) int
		want int
	}{
		{"below the threshold", func(t *Rejections) int { return times(t, 2, time.Second) }, 0},
		{"at it, and every time after", func(t *Rejections) int { return times(t, 5, time.Second) }, 3},
		{"too far apart", func(t *Rejections) int { return times(t, 20, 31*time.Second) }, 0},
		{"no more than ten at first", func(t *Rejections) int { return times(t, 100, 0) }, 10},
		{"then one in six minutes", func(t *Rejections) int {
			times(t, 100, 0)
			now = now.Add(13 * time.Minute)
			return times(t, 100, 0)
		}, 2},
		{"forgotten for fifty others", func(t *Rejections) int {
			times(t, 2, 0)
			for i := range trackedNodes {
				t.Add(now, fmt.Sprint(i))
			}
			return times(t, 2, 0)
		}, 0},
	} {
		if got := tt.do(NewRejections(cfg)); got != tt.want {
			t.Errorf("%s: marked %d times, want %d", tt.name, got, tt.want)
		}
	}
	if off := NewRejections(config.PlanRejectionConfig{Threshold: 1, Window: time.Minute}); off.Add(now, "a") {
		t.Error("a tracker that is off marked a node")
	}
}
