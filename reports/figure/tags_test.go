package figure

import (
	"fmt"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
	"pgregory.net/rapid"
)

// faultsOf returns what is wrong with tags that found a place.
func faultsOf(r *tagRoom, places []tagPlace) (faults []string) {
	for i, p := range places {
		if !p.ok {
			continue
		}
		if !inside(p.box, r.in) {
			faults = append(faults, fmt.Sprintf("tag %d lies outside: %v", i, p.box))
		}
		for j, o := range places {
			if o.ok && i != j && overlap(p.box, o.box) {
				faults = append(faults, fmt.Sprintf("tags %d and %d overlap", i, j))
			}
			if overlap(p.box, dot(r.at[j])) {
				faults = append(faults, fmt.Sprintf("tag %d hides point %d", i, j))
			}
		}
	}
	return faults
}

// TestTags places the tags of a chart of eight brokers, of which several lie on a line or at one
// point: each has a place, and nothing runs through one.
func TestTags(t *testing.T) {
	on := []vg.Point{{X: 270, Y: 60}, {X: 303, Y: 82}, {X: 390, Y: 82}, {X: 402, Y: 82.5}, {X: 390, Y: 61}, {X: 410, Y: 61}}
	r := &tagRoom{in: vg.Rectangle{Max: vg.Point{X: 460, Y: 160}}}
	add := func(at vg.Point, width vg.Length) {
		r.at, r.sizes = append(r.at, at), append(r.sizes, vg.Point{X: width, Y: labelSize})
	}
	for i, at := range on {
		add(at, 90+vg.Length(i))
	}
	for range 3 {
		add(vg.Point{X: 100, Y: 120}, 100)
	}
	r.strokes = []stroke{{on[0], on[1]}, {on[1], on[2]}, {on[2], on[3]}}
	places := r.place()
	for _, fault := range faultsOf(r, places) {
		t.Error(fault)
	}
	for i, p := range places {
		if !p.ok {
			t.Errorf("tag %d has no place", i)
		}
		for _, s := range r.strokes {
			if s.through(p.box) {
				t.Errorf("a line runs through tag %d", i)
			}
		}
		for j, at := range r.at {
			if p.off && !overlap(dot(at), dot(r.at[i])) && p.stroke.through(dot(at)) {
				t.Errorf("the stroke of tag %d runs through point %d", i, j)
			}
		}
		for j, o := range places {
			if i != j && o.off && o.stroke.through(p.box) {
				t.Errorf("the stroke of tag %d runs through tag %d", j, i)
			}
		}
	}
}

// TestTagsAnywhere: wherever points are, no tag overlaps another or hides a point.
func TestTagsAnywhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := &tagRoom{in: vg.Rectangle{Max: vg.Point{X: 300, Y: 120}}}
		for range rapid.IntRange(0, 25).Draw(t, "tags") {
			r.at = append(r.at, vg.Point{X: vg.Length(rapid.IntRange(0, 300).Draw(t, "x")), Y: vg.Length(rapid.IntRange(0, 120).Draw(t, "y"))})
			r.sizes = append(r.sizes, vg.Point{X: vg.Length(rapid.IntRange(5, 130).Draw(t, "width")), Y: labelSize})
		}
		for i := 1; i < len(r.at); i++ {
			r.strokes = append(r.strokes, stroke{r.at[i-1], r.at[i]})
		}
		if faults := faultsOf(r, r.place()); faults != nil {
			t.Fatal(faults)
		}
	})
}

// TestCut: a text keeps as many letters as fit, however many it has.
func TestCut(t *testing.T) {
	sty := style(textSize, Ink, false)
	for letters, wide := range map[int]float64{3: 100, 50: 100, 100_000: 100, 1: 5, 20: 1} {
		text, width := strings.Repeat("b", letters), vg.Length(wide)
		got := cut(sty, text, width)
		kept := strings.Count(got, "b")
		if got != "" && sty.Width(got) > width || kept < letters && sty.Width(strings.Repeat("b", kept+1)+"…") <= width {
			t.Errorf("of %d letters within %g it keeps %q", letters, wide, got)
		}
	}
}
