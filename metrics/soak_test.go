package metrics

import (
	"maps"
	"testing"
)

func TestSoakPairs(t *testing.T) {
	s := Soak{Schedules: []SoakSchedule{
		{Events: []SoakEvent{{1, "kill"}, {20, "drain"}, {31, "kill"}, {70, "heal"}}},
		{Events: []SoakEvent{{1, "kill"}, {2, "drain"}, {3, "drain"}}, Problems: []string{"lost"}},
	}}
	want := map[SoakPair]int{{"kill", "drain"}: 2, {"kill", "kill"}: 1, {"drain", "kill"}: 1, {"drain", "drain"}: 1}
	if got := s.Pairs(); !maps.Equal(got, want) {
		t.Errorf("pairs %v, want %v", got, want)
	}
	if f := s.Failed(); len(f) != 1 || f[0].Problems[0] != "lost" {
		t.Errorf("failed %+v, want the second schedule", f)
	}
}
