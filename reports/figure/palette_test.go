package figure

import (
	"image/color"
	"slices"
	"strings"
	"testing"
)

// TestRunColors pins who has which colour.
func TestRunColors(t *testing.T) {
	for _, tt := range []struct {
		brokers string
		want    []color.NRGBA
	}{
		{"legacy shedding", []color.NRGBA{Vermillion, Blue}},
		{"shedding legacy", []color.NRGBA{Blue, Vermillion}},
		{"a b", []color.NRGBA{Vermillion, Blue}},
		{"legacy other", []color.NRGBA{Vermillion, Blue}},
		{"other shedding", []color.NRGBA{Vermillion, Blue}},
		{"shedding shedding", []color.NRGBA{Vermillion, Blue}},
		{"legacy third shedding", []color.NRGBA{Vermillion, violet, Blue}},
		{"shedding legacy shedding", []color.NRGBA{Blue, Vermillion, shade(Blue, 1, 2)}},
		{"legacy third third", []color.NRGBA{Vermillion, Blue, shade(Blue, 1, 2)}},
		{"shedding shedding shedding", []color.NRGBA{Vermillion, Blue, violet}},
		{"a b c d e f g h", []color.NRGBA{Vermillion, Blue, violet, brown, plum, moss, rose, indigo}},
	} {
		if n := len(tt.want); kindsOf(tt.want) != n {
			t.Errorf("%s: two runs share a colour", tt.brokers)
		}
		if parts := []color.NRGBA{Orange, Sky, Green, Yellow, Purple, Grey}; kindsOf(append(parts, tt.want...)) != len(parts)+len(tt.want) {
			t.Errorf("%s: a run has the colour of a part of runs", tt.brokers)
		}
		if got := RunColors(strings.Fields(tt.brokers)); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.brokers, got, tt.want)
		}
	}
}

func kindsOf(colors []color.NRGBA) int {
	seen := map[color.NRGBA]bool{}
	for _, c := range colors {
		seen[c] = true
	}
	return len(seen)
}

// TestShades: as many shades of a colour as runs, no two alike.
func TestShades(t *testing.T) {
	for _, c := range []color.NRGBA{Vermillion, Blue} {
		var all []color.NRGBA
		for i := range 9 {
			all = append(all, shade(c, i, 9))
		}
		if all[0] != c || kindsOf(all) != 9 {
			t.Errorf("shades of %s: %v", Hex(c), all)
		}
	}
}
