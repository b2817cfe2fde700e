package figure

import (
	"image/color"
	"math"
	"slices"
	"strings"
)

// mostNamedMarks is the number of marks in a panel that surely have room for their names.
const mostNamedMarks = 4

// NoteMarks lists the names of the marks below a figure that has more of them than there is
// room for.
func (f Figure) NoteMarks() Figure {
	var names []string
	known := map[string]bool{}
	most := 0
	for _, p := range f.Panels {
		most = max(most, len(p.Marks))
		for _, m := range p.Marks {
			if !known[m.Name] {
				known[m.Name] = true
				names = append(names, m.Name)
			}
		}
	}
	if most > mostNamedMarks {
		f.Unnamed = "dashed lines, as they first come: " + strings.Join(names, ", ")
	}
	return f
}

// Positive returns v, or 1 if an axis that ends at v would be empty.
func Positive(v float64) float64 {
	if v > 1e-9 {
		return v
	}
	return 1
}

// decades bounds the ratio between the ends of a logarithmic axis, which cannot reach zero.
const decades = 1e9

// LowEnd returns the lower end of a logarithmic axis for values of at least lowest.
func LowEnd(lowest, highest float64) float64 {
	return math.Min(math.Max(lowest, highest/decades), highest/2)
}

// wideRange is the ratio above which a linear axis hides the smaller of two values.
const wideRange = 100

// TooWide reports whether the positive values among values need a logarithmic axis.
func TooWide(values []float64) bool {
	return len(values) > 0 && slices.Max(values) > wideRange*LeastPositive(values)
}

// LeastPositive returns the least value above zero; infinity if there is none.
func LeastPositive(values []float64) float64 {
	least := math.Inf(1)
	for _, v := range values {
		if v > 0 {
			least = min(least, v)
		}
	}
	return least
}

// Top returns the highest value of any line, area or bar in the figure.
func (f Figure) Top() float64 {
	highest := 0.0
	for _, p := range f.Panels {
		for _, l := range p.Lines {
			highest = slices.Max(append([]float64{highest}, l.Y...))
		}
		for _, a := range p.Areas {
			highest = slices.Max(append([]float64{highest}, a.Y...))
		}
		for _, b := range p.Bars {
			highest = max(highest, b.Y0, b.Y1)
		}
	}
	return highest
}

// FitY fits the vertical axis to the lines and areas of all panels. A figure without a single
// point loses its panels.
func (f Figure) FitY() Figure {
	points := 0
	var heights []float64
	for _, p := range f.Panels {
		for _, l := range p.Lines {
			points += len(l.X)
			heights = append(heights, l.Y...)
		}
		for _, a := range p.Areas {
			points += len(a.X)
		}
	}
	if points == 0 {
		return Figure{}
	}
	f.Y.Max = Positive(f.Top())
	if f.Y.Log {
		f.Y.Min = LowEnd(LeastPositive(heights), f.Y.Max)
	}
	return f
}

// LogBars makes the vertical axis logarithmic if the heights on it need that.
func (f Figure) LogBars(heights []float64) Figure {
	if TooWide(heights) {
		f.Y.Log, f.Y.Min = true, LowEnd(min(LeastPositive(heights), f.Y.Max)/2, f.Y.Max)
	}
	return f
}

// KeysOf returns the names and colours of the layers in their order, each once.
func KeysOf(panels []Panel) []Key {
	var keys []Key
	add := func(name string, c color.NRGBA) {
		if k := (Key{Name: name, Color: c}); !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	for _, p := range panels {
		for _, a := range p.Areas {
			add(a.Name, a.Color)
		}
		if len(p.Areas) == 0 {
			for _, l := range p.Lines {
				add(l.Name, l.Color)
			}
		}
	}
	return keys
}
