package figure

import (
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Measures of tags, in points.
const (
	tagGap    vg.Length = 5 // between a point and its tag
	tagDot    vg.Length = 3 // around the middle of a point
	widestTag vg.Length = 130
	tagReach            = 6 // rows that a tag can stand off its point
)

// tags writes names beside points. One that stands off its point has a stroke to it, and one that
// finds no room is left out.
func (d drawing) tags(tags []Tag) {
	sty := style(labelSize, Ink, false)
	var room tagRoom
	room.in = d.c.Rectangle
	for _, l := range d.panel.Lines {
		if points := d.points(l.X, l.Y); !l.Scattered {
			for i := 1; i < len(points); i++ {
				room.strokes = append(room.strokes, stroke{points[i-1], points[i]})
			}
		}
	}
	for _, t := range tags {
		room.at = append(room.at, d.point(t.X, t.Y))
		room.sizes = append(room.sizes, vg.Point{X: sty.Width(cut(sty, t.Text, widestTag)), Y: labelSize})
	}
	places := room.place()
	for _, p := range places {
		if p.off && p.ok {
			d.c.StrokeLine2(draw.LineStyle{Color: faint, Width: 0.6}, p.stroke.from.X, p.stroke.from.Y, p.stroke.to.X, p.stroke.to.Y)
		}
	}
	for i, p := range places {
		if !p.ok {
			continue
		}
		d.c.SetColor(translucent(paper, 0.75)) // a line may run behind it
		d.box(p.box.Min.X, p.box.Min.Y, p.box.Max.X, p.box.Max.Y)
		d.c.FillText(sty, p.box.Min.Add(vg.Point{Y: labelSize * 0.25}), cut(sty, tags[i].Text, widestTag))
	}
}

// stroke is a straight line.
type stroke struct{ from, to vg.Point }

// tagRoom is what tags are placed among: their own points, and lines.
type tagRoom struct {
	in      vg.Rectangle
	at      []vg.Point // of each tag
	sizes   []vg.Point
	strokes []stroke
}

// tagPlace is where a tag could stand.
type tagPlace struct {
	box    vg.Rectangle
	stroke stroke // from its point
	off    bool   // so far from its point that the stroke shows
	ok     bool
	cost   float64
}

// What faults of a place cost. No sum of the others outweighs an overlap.
const (
	overlaps = 1e6
	crossed  = 10.0
	perRow   = 2.0
	perSide  = 0.1
)

// place finds a place for each tag. If a tag finds none, or only one that a line crosses, it gets a clear
// place, provided that the other tags can move so that all places together cost less.
func (r *tagRoom) place() []tagPlace {
	choices := make([][]tagPlace, len(r.at))
	for i := range r.at {
		choices[i] = r.choices(i)
	}
	places := settle(choices)
	for i := range places {
		if places[i].ok && places[i].cost+among(places[i], i, places) < crossed {
			continue
		}
		own := choices[i]
		for _, c := range own {
			if c.cost >= crossed {
				continue
			}
			choices[i] = []tagPlace{c}
			if other := settle(choices); total(other) < total(places) {
				places = other
				break
			}
		}
		choices[i] = own
	}
	return places
}

// settle moves one tag after the other to the place that is best given where the others are, until none moves.
func settle(choices [][]tagPlace) []tagPlace {
	places := make([]tagPlace, len(choices))
	for i, of := range choices {
		if len(of) == 1 {
			places[i] = of[0]
			places[i].ok = true
		}
	}
	for moved, rounds := true, 0; moved && rounds < 20; rounds++ {
		moved = false
		for i := range places {
			best, least := places[i], math.Inf(1)
			for _, c := range choices[i] {
				if cost := c.cost + among(c, i, places); cost < least {
					best, least = c, cost
				}
			}
			moved = moved || best.box != places[i].box
			places[i] = best
			places[i].ok = least < overlaps
		}
	}
	return places
}

// total returns what all places cost.
func total(places []tagPlace) float64 {
	sum := 0.0
	for i, p := range places {
		if !p.ok {
			sum += overlaps
			continue
		}
		sum += p.cost + among(p, i, places)
	}
	return sum
}

// choices returns the places of a tag that lie inside and on no point: right of its own or left,
// above or below, near or further off.
func (r *tagRoom) choices(i int) []tagPlace {
	at, w, h := r.at[i], r.sizes[i].X, r.sizes[i].Y
	var out []tagPlace
	for row := range tagReach {
		gap := tagGap + vg.Length(row)*labelRow
		for side, from := range []vg.Point{
			{X: gap, Y: -h / 2}, {X: -gap - w, Y: -h / 2}, {X: -w / 2, Y: gap}, {X: -w / 2, Y: -gap - h},
			{X: tagGap, Y: gap}, {X: tagGap, Y: -gap - h}, {X: -tagGap - w, Y: gap}, {X: -tagGap - w, Y: -gap - h},
		} {
			box := vg.Rectangle{Min: at.Add(from), Max: at.Add(from).Add(vg.Point{X: w, Y: h})}
			if !inside(box, r.in) || slices.ContainsFunc(r.at, func(o vg.Point) bool { return overlap(box, dot(o)) }) {
				continue
			}
			nearest := vg.Point{X: min(max(at.X, box.Min.X), box.Max.X), Y: min(max(at.Y, box.Min.Y), box.Max.Y)}
			c := tagPlace{box: box, stroke: stroke{at, nearest}, off: row > 0, cost: perRow*float64(row) + perSide*float64(side)}
			for _, s := range r.strokes {
				if s.through(box) {
					c.cost += crossed
				}
			}
			for _, o := range r.at {
				if c.off && !overlap(dot(o), dot(at)) && c.stroke.through(dot(o)) {
					c.cost += crossed
				}
			}
			out = append(out, c)
		}
	}
	return out
}

// among returns what the other tags that have found room cost a place.
func among(c tagPlace, i int, places []tagPlace) float64 {
	cost := 0.0
	for j, o := range places {
		if j == i || !o.ok {
			continue
		}
		if overlap(c.box, o.box) {
			cost += overlaps
		}
		if c.off && c.stroke.through(o.box) || o.off && o.stroke.through(c.box) {
			cost += crossed
		}
	}
	return cost
}

func dot(at vg.Point) vg.Rectangle {
	arm := vg.Point{X: tagDot, Y: tagDot}
	return vg.Rectangle{Min: at.Sub(arm), Max: at.Add(arm)}
}

// through reports whether the stroke runs through a box. It looks at every point's length of it.
func (s stroke) through(box vg.Rectangle) bool {
	way := s.to.Sub(s.from)
	steps := int(math.Hypot(float64(way.X), float64(way.Y))) + 1
	for i := 1; i < steps; i++ {
		p := s.from.Add(way.Scale(vg.Length(i) / vg.Length(steps)))
		if p.X > box.Min.X && p.X < box.Max.X && p.Y > box.Min.Y && p.Y < box.Max.Y {
			return true
		}
	}
	return false
}

func inside(a, in vg.Rectangle) bool {
	return a.Min.X >= in.Min.X && a.Max.X <= in.Max.X && a.Min.Y >= in.Min.Y && a.Max.Y <= in.Max.Y
}

func overlap(a, b vg.Rectangle) bool {
	return a.Min.X < b.Max.X && b.Min.X < a.Max.X && a.Min.Y < b.Max.Y && b.Min.Y < a.Max.Y
}
