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
		"-5,1,up": `"-5" is no instant`, "1e300,1,up": `"1e300" is no instant`, "NaN,1,up": `"NaN" is no instant`, "soon,1,up": "no instant", "1,1,up\n60,x,down": "line 2",
	} {
		if _, err := parseTrace([]byte(bad), 12); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one that says %q", bad, err, want)
		}
	}
}

func TestPlaces(t *testing.T) {
	groups := []Group{{"a", "dc1", 0, 5, 2}, {"b", "dc2", 5, 3, 1}}
	for _, c := range []struct {
		place Place
		want  []int
		err   string
	}{
		{place: Place{Group: "b"}, want: []int{5, 6, 7}},
		{place: Place{Datacenter: "dc1"}, want: []int{0, 1, 2, 3, 4}},
		{place: Place{Group: "a", Racks: []int{2}}, want: []int{1, 3}},
		{place: Place{Racks: []int{1}}, want: []int{0, 2, 4, 5, 6, 7}},
		{place: Place{Datacenter: "dc3"}, err: `no client is in datacenter "dc3": the groups are in dc1, dc2`},
		{place: Place{Group: "a", Datacenter: "dc2"}, err: "group a has no client in datacenter dc2"},
		{place: Place{Group: "b", Racks: []int{2}}, err: "there is no rack 2: the racks there have numbers from 1 to 1"},
		{place: Place{Racks: []int{0}}, err: "there is no rack 0: the racks there have numbers from 1 to 2"},
	} {
		got, err := c.place.Clients(groups)
		if !slices.Equal(got, c.want) || (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
			t.Errorf("%+v: clients %v, error %v, want %v, %q", c.place, got, err, c.want, c.err)
		}
	}
	if got, want := (Place{Group: "a", Racks: []int{1, 2}}).String(), "racks 1, 2 of group a"; got != want {
		t.Errorf("got %q, want %q", got, want)
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
