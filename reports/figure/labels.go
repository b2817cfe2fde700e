package figure

import "gonum.org/v1/plot/vg"

// Measures of the names of phases and marks above the data, in points.
const (
	labelSize vg.Length = 9.5
	labelRow            = labelSize * 1.3
	labelGap  vg.Length = 4
	sameMark  vg.Length = 3 // marks closer than that are one to the eye
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
