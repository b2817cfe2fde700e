package server

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/simctl/simctl/cluster/internal/config"
	"github.com/simctl/simctl/internal/virtualtest"
)

// TestCallsAreFollowed: of each call is told when it is carried out, and of a client's call besides when the leader
// does what was passed on to it. No two calls have one number.
func TestCallsAreFollowed(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var told []string
		calls := map[uint64]bool{}
		s := alone(t, config.Config{Seed: 1, GC: noCollection, CarriedOut: func(call uint64, method string) {
			mu.Lock()
			defer mu.Unlock()
			if strings.HasPrefix(method, "Test.") {
				told, calls[call] = append(told, method), true
			}
		}})
		if c := s.cfg; c.CarriedOut == nil {
			t.Fatal("the setting is lost")
		}
		done := func(*Server) (int, error) { return 7, nil }
		for range 2 {
			if n, err := Forward(t.Context(), s, "Test.Forward", done); n != 7 || err != nil {
				t.Errorf("%d, %v", n, err)
			}
		}
		n, err := ToLeader(t.Context(), s, "n", "Test.Client", "x", done)
		if n != 7 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		if want := []string{"Test.Forward", "Test.Forward", "Test.Client", "Test.Client/x"}; !slices.Equal(told, want) || len(calls) != len(want) {
			t.Errorf("told of %q, with numbers %v; want %q, each with its own", told, calls, want)
		}
	})
}
