package realcluster

import (
	"testing"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/internal/pacer"
)

// TestOneLookAsksTwice: a look that may ask asks for all that it needs, however long the first answer took.
func TestOneLookAsksTwice(t *testing.T) {
	held := map[string]int{}
	client := counting(t, held)
	e := evals{pace: pacer.Pacer{Share: 1 << 20}} // whatever it asks, it rests for long
	for i, step := range []struct {
		canceled int
		rested   bool
		want     uint64
	}{{0, true, 0}, {44, true, 44}, {50, false, 44}, {50, true, 50}} {
		if held[broker.StatusCanceled] = step.canceled; step.rested {
			e.pace = pacer.Pacer{Share: 1 << 20}
		}
		if err := e.look(client, uint64(10*(i+1)), 0, 0); err != nil {
			t.Fatal(err)
		}
		if e.canceled != step.want {
			t.Errorf("look %d: %d are canceled, want %d", i+1, e.canceled, step.want)
		}
	}
}

// TestAStateBehindTheLog: a busy server's log rests while its state still takes what is in it. So evaluations are counted until two counts
// agree.
func TestAStateBehindTheLog(t *testing.T) {
	held := map[string]int{}
	client := counting(t, held)
	var e evals
	for i, step := range []struct {
		index uint64
		held  int
		want  uint64
	}{{10, 0, 0}, {20, 100, 100}, {20, 300, 300}, {20, 500, 500}, {20, 500, 500}, {20, 600, 500}} {
		held[broker.StatusPending] = step.held
		if err := e.look(client, step.index, 100, 0); err != nil {
			t.Fatal(err)
		}
		if got := e.byStatus[broker.StatusPending]; got != step.want {
			t.Errorf("look %d: %d are pending, want %d", i+1, got, step.want)
		}
	}
}

// TestALogThatRestsAmongEvaluations is not counted at: an applier that signs a large plan writes nothing for seconds, and whoever has
// it count meanwhile delays it. What is in flight will be written.
func TestALogThatRestsAmongEvaluations(t *testing.T) {
	held := map[string]int{broker.StatusPending: 10}
	client := counting(t, held)
	var e evals
	for i, step := range []struct {
		index   uint64
		working bool
		held    int
		want    uint64
	}{{10, false, 10, 10}, {20, true, 9, 12}, {20, true, 9, 12}, {20, false, 9, 9}} {
		held[broker.StatusPending], e.working = step.held, step.working
		if err := e.look(client, step.index, 12, 0); err != nil {
			t.Fatal(err)
		}
		if got := e.byStatus[broker.StatusPending]; got != step.want {
			t.Errorf("look %d: %d are pending, want %d", i+1, got, step.want)
		}
	}
}
