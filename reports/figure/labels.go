package figure

import (
	"slices"

	"gonum.org/v1/plot/vg"
)

// Measures of the names of phases and marks above the data, in points.
const (
	labelSize vg.Length = 9.5
	labelRow            = labelSize * 1.3
	labelGap  vg.Length = 4
	sameMark  vg.Length = 3 // marks closer than that are one to the eye
	tagGap    vg.Length = 5 // between a point and its tag
	widestTag vg.Length = 130
)

// mostRows bounds the height that labels may take from the data: the narrower a panel is, the
// fewer rows. A mark that finds no room keeps its line, but goes without its name.
func mostRows(width vg.Length) int { return min(2+int(width/250), 5) }

// label is a name placed in the rows above the data. Row 0 is the topmost.
type label struct {
	text     string
	bold     bool
	from, to vg.Length // from the left end of the axis
	row      int
	mark     bool
	line     vg.Length // of a mark: where its line comes down from beside its name
}

// place finds places for the names of phases and marks on an axis of the given width. No name
// overlaps another, and none leaves the axis.
func (p Panel) place(x Axis, width vg.Length) []label {
	if x.Max <= x.Min {
		return nil
	}
	at := func(v float64) vg.Length {
		return vg.Length((v-x.Min)/(x.Max-x.Min)) * width
	}
	var placed []label
	put := func(l label) {
		w := style(labelSize, Ink, l.bold).Width(l.text)
		if l.from+w > width {
			l.from = width - w
		}
		if l.from < 0 {
			return
		}
		for l.to = l.from + w; l.row < mostRows(width); l.row++ {
			if l.free(placed) {
				placed = append(placed, l)
				return
			}
		}
	}
	// Names that fit into their phase come first: they all share the top row.
	var narrow []Band
	for _, b := range p.Bands {
		from, to := at(b.From), at(b.To)
		w := style(labelSize, Ink, true).Width(b.Name)
		if w+2*labelGap > to-from {
			narrow = append(narrow, b)
			continue
		}
		put(label{text: b.Name, bold: true, from: (from + to - w) / 2})
	}
	for _, b := range narrow {
		put(label{text: b.Name, bold: true, from: at(b.From) + 1})
	}
	for i := 0; i < len(p.Marks); {
		l := label{text: p.Marks[i].Name, row: 1, mark: true, line: at(p.Marks[i].At)}
		// Marks in one place share a line of text.
		for i++; i < len(p.Marks) && at(p.Marks[i].At)-l.line < sameMark; i++ {
			l.text += ", " + p.Marks[i].Name
		}
		l.from = l.line + labelGap
		put(l)
	}
	return placed
}

// free reports whether the label overlaps no placed one, and no mark's line runs through
// another's name.
func (l label) free(placed []label) bool {
	for _, o := range placed {
		if o.row == l.row && l.from < o.to+labelGap && o.from < l.to+labelGap || l.crosses(o) || o.crosses(l) {
			return false
		}
	}
	return true
}

// crosses reports whether the label's line runs through o.
func (l label) crosses(o label) bool {
	return l.mark && o.row > l.row && l.line > o.from-1 && l.line < o.to+1
}

// headroomFor returns the height that a panel needs above its data.
func headroomFor(labels []label, p Panel, x Axis, width vg.Length) vg.Length {
	room := vg.Length(0)
	for _, l := range labels {
		room = max(room, vg.Length(l.row+1)*labelRow+4)
	}
	sty := style(smallSize, Ink, false)
	for _, b := range p.Bars {
		if b.Horizontal || b.Label == "" {
			continue
		}
		box := vg.Length((b.X1-b.X0)/(x.Max-x.Min)) * width
		room = max(room, smallSize*lineHeight+3)
		if w := sty.Width(b.Label); w > box+2 {
			room = max(room, w+8)
		}
		if b.Detail != "" && sty.Width(b.Detail) <= box+2 {
			room = max(room, 2*smallSize*lineHeight+3)
		}
	}
	if len(labels) > 0 || len(p.Lines)+len(p.Areas) > 0 {
		room = max(room, 4)
	}
	return room
}

// tags writes names beside points: right of them or left, above or below, wherever one touches
// neither another nor a point. One that finds no room is left out.
func (d drawing) tags(tags []Tag) {
	sty := style(labelSize, Ink, false)
	var taken []vg.Rectangle
	for _, t := range tags {
		at := d.point(t.X, t.Y)
		taken = append(taken, vg.Rectangle{Min: at.Sub(vg.Point{X: 3, Y: 3}), Max: at.Add(vg.Point{X: 3, Y: 3})})
	}
	for _, t := range tags {
		text := cut(sty, t.Text, widestTag)
		at, w, h := d.point(t.X, t.Y), sty.Width(text), labelSize
		for _, from := range []vg.Point{
			{X: tagGap, Y: -h / 2}, {X: -tagGap - w, Y: -h / 2}, {X: -w / 2, Y: tagGap}, {X: -w / 2, Y: -tagGap - h},
			{X: tagGap, Y: tagGap}, {X: tagGap, Y: -tagGap - h}, {X: -tagGap - w, Y: tagGap}, {X: -tagGap - w, Y: -tagGap - h},
		} {
			box := vg.Rectangle{Min: at.Add(from), Max: at.Add(from).Add(vg.Point{X: w, Y: h})}
			if inside(box, d.c.Rectangle) && !slices.ContainsFunc(taken, func(o vg.Rectangle) bool { return overlap(box, o) }) {
				taken = append(taken, box)
				d.c.SetColor(translucent(paper, 0.75)) // a line may run behind it
				d.box(box.Min.X, box.Min.Y, box.Max.X, box.Max.Y)
				d.c.FillText(sty, box.Min.Add(vg.Point{Y: labelSize * 0.25}), text)
				break
			}
		}
	}
}

func inside(a, in vg.Rectangle) bool {
	return a.Min.X >= in.Min.X && a.Max.X <= in.Max.X && a.Min.Y >= in.Min.Y && a.Max.Y <= in.Max.Y
}

func overlap(a, b vg.Rectangle) bool {
	return a.Min.X < b.Max.X && b.Min.X < a.Max.X && a.Min.Y < b.Max.Y && b.Min.Y < a.Max.Y
}
