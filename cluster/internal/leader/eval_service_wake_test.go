package leader

import (
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/internal/virtualtest"
)

// TestWaitersWakeUp: while those who wait wake up, an evaluation goes to who asks, such as the worker that has just acked the last.
// If nobody asks, the first who waits has it once awake. Those who wait when the service is disabled need not wake up to hear of it.
func TestWaitersWakeUp(t *testing.T) {
	const wake = 50 * time.Microsecond
	ofOneJob := func(e *broker.Evaluation) { e.JobID = "j" }
	for _, asks := range []bool{true, false} {
		virtualtest.Test(t, func(t *testing.T) {
			s := NewEvalService(broker.Config{Policy: broker.Legacy()})
			s.Wake = wake
			s.SetEnabled(true)
			defer s.Close()
			s.EnqueueAll([]broker.EvalToken{{Eval: evaluation("first", ofOneJob)}, {Eval: evaluation("second", ofOneJob)}})
			first, token, err := s.Dequeue(t.Context(), []string{"service"}, time.Second)
			if err != nil || first == nil {
				t.Fatalf("dequeued %v, %v; want the first evaluation, at once", first, err)
			}
			type got struct {
				id    string
				after time.Duration
			}
			start, waits := time.Now(), make(chan got)
			go func() {
				e, _, err := s.Dequeue(t.Context(), []string{"service"}, time.Second)
				if err != nil || e == nil {
					waits <- got{after: time.Since(start)}
					return
				}
				waits <- got{e.ID, time.Since(start)}
			}()
			time.Sleep(time.Millisecond)
			if _, err := s.Ack(first.ID, token); err != nil {
				t.Fatal(err)
			}
			if asks {
				if e, _, err := s.Dequeue(t.Context(), []string{"service"}, 0); err != nil || e == nil || e.ID != "second" {
					t.Errorf("who asked after its ack got %v, %v; want the next evaluation", e, err)
				}
				s.SetEnabled(false)
				if g := <-waits; g.id != "" || g.after != time.Millisecond {
					t.Errorf("who waited got %q after %v, want nothing when the service was disabled", g.id, g.after)
				}
				return
			}
			if g := <-waits; g.id != "second" || g.after != time.Millisecond+wake {
				t.Errorf("who waited got %q after %v, want the next evaluation once it was awake", g.id, g.after)
			}
		})
	}
}
