package broker_test

import (
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
)

// TestEvaluationStatus: what an evaluation's status and times say of it.
func TestEvaluationStatus(t *testing.T) {
	for status, want := range map[string][3]bool{ // enqueue, block, terminal
		broker.StatusPending:  {true, false, false},
		broker.StatusBlocked:  {false, true, false},
		broker.StatusComplete: {false, false, true},
		broker.StatusFailed:   {false, false, true},
		broker.StatusCanceled: {false, false, true},
		"":                    {false, false, false},
	} {
		e := broker.Evaluation{Status: status}
		if got := [3]bool{e.ShouldEnqueue(), e.ShouldBlock(), e.Terminal()}; got != want {
			t.Errorf("status %q: to be enqueued, to be blocked, terminal: %v, want %v", status, got, want)
		}
	}
	for _, tt := range []struct {
		e    broker.Evaluation
		want bool
	}{
		{broker.Evaluation{}, false},
		{broker.Evaluation{Wait: 1}, true},
		{broker.Evaluation{Wait: -1}, false},
		{broker.Evaluation{WaitUntil: time.Unix(1, 0)}, true},
	} {
		if got := tt.e.Waits(); got != tt.want {
			t.Errorf("wait %v, until %v: waits is %v", tt.e.Wait, tt.e.WaitUntil, got)
		}
	}
	e := &broker.Evaluation{ID: "a", Status: broker.StatusPending}
	c := e.Copy()
	if c.Status = broker.StatusFailed; c.ID != "a" || e.Status != broker.StatusPending {
		t.Errorf("copy %+v of %+v", c, e)
	}
}

// TestTokens: a broker without a source of its own gives every delivery another token.
func TestTokens(t *testing.T) {
	now, seen := time.Unix(0, 0), map[string]bool{"": true}
	for range 3 {
		b := broker.New(broker.Config{InitialNackDelay: -1, SubsequentNackDelay: -1})
		b.SetEnabled(now, true)
		b.Enqueue(now, &broker.Evaluation{ID: "a"})
		if !b.HasReady() {
			t.Error("nothing is ready")
		}
		for range 3 {
			e, token, err := b.Dequeue(now, []string{""})
			if err != nil || seen[token] {
				t.Fatalf("token %q again (%v)", token, err)
			}
			seen[token] = true
			if b.HasReady() {
				t.Error("one that is out is ready")
			}
			if err := b.Nack(now, e.ID, token); err != nil {
				t.Fatal(err)
			}
		}
	}
}
