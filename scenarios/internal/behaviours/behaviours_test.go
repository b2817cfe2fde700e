package behaviours

import (
	"slices"
	"strings"
	"testing"

	"github.com/simctl/simctl/scenarios/language"
)

func TestRefusedTraces(t *testing.T) {
	for bad, want := range map[string]string{
		"": "empty", "60,12,down": "from 0 to 11", "60,-1,down": "from 0 to 11", "60,1,sideways": "up or down", "60,1": "it must be an instant",
		"-5,1,up": "no instant", "soon,1,up": "no instant", "1,1,up\n60,x,down": "line 2",
	} {
		if _, err := parseTrace([]byte(bad), 12); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one that says %q", bad, err, want)
		}
	}
}

func TestUnitsAreDrawnBySeed(t *testing.T) {
	groups := []Group{{"a", "dc1", 0, 10, 4}, {"b", "dc1", 10, 5, 1}, {"c", "dc2", 15, 5, 1}}
	sizes := func(b Behaviour) (out []int) {
		b.Share = 1
		for _, u := range b.choose(1, groups) {
			out = append(out, len(u.clients))
		}
		return out
	}
	for _, c := range []struct {
		b    Behaviour
		want []int
	}{
		{Behaviour{Group: "a", Together: "rack"}, []int{3, 3, 2, 2}},
		{Behaviour{Together: "group"}, []int{10, 5, 5}},
		{Behaviour{Together: "datacenter"}, []int{15, 5}},
		{Behaviour{Group: "b", Together: "datacenter"}, []int{5}},
		{Behaviour{Group: "c"}, []int{1, 1, 1, 1, 1}},
	} {
		if got := sizes(c.b); !slices.Equal(got, c.want) {
			t.Errorf("%+v: units of %v, want %v", c.b, got, c.want)
		}
	}
	chosen := func(seed int64) (out []int) {
		for _, u := range (&Behaviour{Name: "x", Share: 0.3}).choose(seed, groups) {
			out = append(out, u.clients...)
		}
		return out
	}
	if one, again, other := chosen(1), chosen(1), chosen(2); len(one) != 6 || !slices.Equal(one, again) || slices.Equal(one, other) {
		t.Errorf("chosen %v and %v by one seed, %v by another", one, again, other)
	}
	d := language.Distribution{Kind: "exponential", A: 1000}
	if a, b := d.Draw(source(1, "x", 1)), d.Draw(source(1, "x", 2)); a == b {
		t.Errorf("two units draw %v", a)
	}
}
