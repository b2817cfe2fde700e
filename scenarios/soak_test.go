package scenarios

import (
	"testing"
)

func TestSchedulesAreScenarioFiles(t *testing.T) {
	for seed := range int64(300) {
		s := NewSchedule(seed)
		if again := NewSchedule(seed); again.Text() != s.Text() {
			t.Fatalf("seed %d makes two schedules", seed)
		}
		if err := s.Spec("legacy").Validate(); err != nil {
			t.Errorf("seed %d: %v\n%s", seed, err, s.Text())
		}
	}
}
