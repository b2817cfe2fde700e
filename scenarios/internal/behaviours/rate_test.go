package behaviours

import (
	"math"
	"testing"
	"time"

	"github.com/simctl/simctl/nodesim"
	"github.com/simctl/simctl/scenarios/language"
)

func TestActs(t *testing.T) {
	groups := Groups(nodesim.Config{Groups: []nodesim.Group{{Name: "a", Nodes: 30}, {Name: "b", Nodes: 10}}})
	minutes := func(n float64) language.Distribution {
		return language.Distribution{A: time.Duration(n * float64(time.Minute))}
	}
	between := language.Distribution{Kind: "uniform", A: time.Minute, B: 3 * time.Minute}
	for name, c := range map[string]struct {
		b    Behaviour
		want float64
	}{
		"both ways":         {Behaviour{Share: 0.5, Routine: flap{Up: between, Down: minutes(3)}}, 20 * 2 * 4},
		"of a group":        {Behaviour{Share: 1, Group: "b", Routine: churn{recurring: recurring{minutes(2)}}}, 10 * 10},
		"again and again":   {Behaviour{Share: 1, Routine: fingerprint{recurring: recurring{minutes(10)}}}, 40 * 2},
		"for good":          {Behaviour{Share: 1, Routine: stop{After: minutes(1)}}, 40},
		"some for good":     {Behaviour{Share: 1, Routine: stop{After: minutes(40)}}, 20},
		"as the trace says": {Behaviour{Share: 1, Routine: trace{0: {{At: time.Minute}, {At: time.Hour}}, 7: {{At: 0}}}}, 2},
	} {
		if got := c.b.Acts(groups, 20*time.Minute); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %g acts, want %g", name, got, c.want)
		}
	}
}
