package figure

import (
	"image/color"
	"strconv"
)

// Figure is one chart as data: everything that its drawing shows, and nothing of how. The zero
// value has no panels and draws nothing.
type Figure struct {
	ID       string // stem of the file name
	Title    string
	Subtitle string
	Note     string // how to read it, where that is not plain
	Unnamed  string // names of marks that may lack room; the page shows them on hover
	X, Y     Axis   // shared by all panels
	Panels   []Panel
	Legend   []Key
}

// Axis is a scale that all panels of a figure share.
type Axis struct {
	Label    string
	Unit     Unit
	Min, Max float64
	Log      bool      // Min is above zero then, and smaller values lie at Min
	Names    []string  // of the categories 0, 1, …; nil when the axis is numeric
	Marked   []float64 // the values to label; nil stands for round ones
}

// Unit says how values of an axis are written.
type Unit int

const (
	Count     Unit = iota // with SI prefixes
	Instants              // seconds of the run, as mm:ss or h:mm
	Durations             // seconds, from µs to hours
	Shares                // 0 to 1, in percent
)

// String returns the name by which the page's script knows the unit.
func (u Unit) String() string { return [...]string{"count", "instants", "lengths", "shares"}[u] }

// Panel is one pair of axes, mostly that of one run.
type Panel struct {
	Heading string
	Detail  string // the figure to remember
	Color   color.NRGBA
	Bands   []Band
	Marks   []Mark
	Spreads []Spread
	Areas   []Area
	Lines   []Line
	Bars    []Bar
	Cells   []Cell
	Edges   []Edge  // between cells
	Limits  []Limit // across the data
	Crosses []Cross // on top of all
	Tags    []Tag
}

// Band is a phase: a shaded stretch of the horizontal axis.
type Band struct {
	Name string  `json:"name"`
	From float64 `json:"from"`
	To   float64 `json:"to"`
}

// Mark is a named instant.
type Mark struct {
	Name string  `json:"name"`
	At   float64 `json:"at"`
}

// Line runs through points. X and Y have equal length.
type Line struct {
	Name  string
	Color color.NRGBA
	X, Y  []float64
	// Dotted marks the points: they are few, and nothing was measured between them.
	Dotted bool
	// Scattered leaves out the line between the points, which have no order.
	Scattered bool
	// Summary is what the page says of the line until it is hovered over; empty stands for the
	// highest value in view.
	Summary string
}

// Area is filled between two curves over the same points; a nil Base is zero.
type Area struct {
	Name    string
	Color   color.NRGBA
	X, Y    []float64
	Base    []float64
	Outline bool // strokes the upper curve
}

// Spread is a shade between the lowest and the highest values, behind a line.
type Spread struct {
	Color        color.NRGBA
	X, Low, High []float64
}

// Bar is a box between two corners in data coordinates.
type Bar struct {
	X0, X1, Y0, Y1 float64
	Color          color.NRGBA
	Light          bool   // in a lighter shade of Color
	Label          string // at the end of the bar: above it, or right of a horizontal one
	Detail         string // above the label, if there is room
	Horizontal     bool
}

// Cell is one cell of a heat map, at category X and Y.
type Cell struct {
	X, Y   int
	Color  color.NRGBA
	Label  string
	Detail string // all there is to say of it; the page shows it on hover
	Failed bool   // crossed out
}

// Cross marks a point that fails: at the upper edge if Y is infinite.
type Cross struct {
	X, Y  float64
	Color color.NRGBA
}

// Tag names a point, where there is room beside it. The legend must have the name, too.
type Tag struct {
	Text string
	X, Y float64
}

// Key explains one colour.
type Key struct {
	Name  string
	Color color.NRGBA
}

// Limit is a bound drawn across a panel.
type Limit struct {
	Name string
	At   float64
}

// Edge is a stretch of a line between cells, in the coordinates of the axes.
type Edge struct{ X0, Y0, X1, Y1 float64 }

// Categories returns an axis with a category for each value.
func Categories(name string, values []float64) Axis {
	a := Axis{Label: name, Min: -0.5, Max: float64(len(values)) - 0.5}
	for _, v := range values {
		a.Names = append(a.Names, strconv.FormatFloat(v, 'g', 6, 64))
	}
	return a
}

// MaxMultiples is the largest number of small multiples in one figure.
const MaxMultiples = 9
