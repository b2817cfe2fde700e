package actions

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/simctl/simctl/internal/virtualtest"
	"github.com/simctl/simctl/nodesim"
	"github.com/simctl/simctl/scenarios/internal/behaviours"
)

// clocked acts once, a second after it begins, and says when.
type clocked chan<- time.Time

func (clocked) Begin(int, *rand.Rand) (time.Duration, bool) { return time.Second, true }

func (c clocked) Act(*nodesim.Fleet, *behaviours.Unit) (time.Duration, bool) {
	c <- time.Now()
	return 0, false
}

// TestBehavioursNeverMeet: two behaviours that begin together act at different instants, also when one
// that began before them has ended.
func TestBehavioursNeverMeet(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		acts := make(chan time.Time, 2)
		s := &Stage{Ctx: t.Context(), Groups: behaviours.Groups(nodesim.Config{Groups: []nodesim.Group{{Name: "g", Nodes: 1}}})}
		begin := func(name string) {
			s.BeginBehaviour(&behaviours.Behaviour{Name: name, Share: 1, Routine: clocked(acts)})
		}
		begin("a")
		begin("b")
		s.EndBehaviour("a", true)
		begin("c")
		first, second := <-acts, <-acts
		s.EndBehaviours()
		if first.Equal(second) {
			t.Errorf("both act at %v", first)
		}
	})
}
