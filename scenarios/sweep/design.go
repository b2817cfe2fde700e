package sweep

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/simctl/simctl/scenarios"
)

// DesignKind is a way to choose cells.
type DesignKind string

// Ways to choose cells.
const (
	// Grid is every combination of the axes' values.
	Grid DesignKind = "grid"
	// Sample is a Latin hypercube: each axis is cut into as many slices as there are cells,
	// and each slice has one cell.
	Sample DesignKind = "sample"
	// OneAtATime varies one axis while the others stay where the base has them.
	OneAtATime DesignKind = "one at a time"
	// Knee bisects one axis to where the limits start to fail, for every combination of the
	// other axes' values.
	Knee DesignKind = "knee"
)

// Design says which cells of a Study are run. The zero value is a Grid.
type Design struct {
	Kind  DesignKind
	Cells int    // of a Sample
	Axis  string // of a Knee
	// Within is how close a Knee gets, as a share of the axis' value.
	Within float64
}

// points returns the cells of the study, each once, and the most runs that each may lead to:
// more than one for a knee, whose cells are at the low end of its axis.
func (d Design) points(st *Study) (points [][]string, perPoint int, err error) {
	switch d.Kind {
	case Sample:
		points, err = d.sample(st)
	case OneAtATime:
		points, err = oneAtATime(st)
	case Knee:
		return d.kneePoints(st)
	default:
		points, err = grid(st.Axes)
	}
	return points, 1, err
}

// grid returns every combination of values, the last axis varying fastest.
func grid(axes []Axis) ([][]string, error) {
	cells := 1
	for _, a := range axes {
		if a.Range != nil {
			return nil, fmt.Errorf("axis %s: the range %s..%s does not say which values: add :log5, :lin5 or :+STEP, or take a sample",
				a.Name, a.format(a.Range.Low), a.format(a.Range.High))
		}
		if cells *= len(a.Values); cells > mostRuns {
			return nil, fmt.Errorf("the grid has more than %d cells: take fewer values, or a sample of them", mostRuns)
		}
	}
	points := [][]string{nil}
	for _, a := range axes {
		var longer [][]string
		for _, p := range points {
			for _, v := range a.Values {
				longer = append(longer, append(slices.Clone(p), v))
			}
		}
		points = longer
	}
	return points, nil
}

// sample returns a Latin hypercube, drawn from the base's seed. It drops cells that rounding
// makes equal to others.
func (d Design) sample(st *Study) ([][]string, error) {
	if d.Cells < 2 || d.Cells > mostRuns {
		return nil, fmt.Errorf("a sample of %d cells: it must be from 2 to %d", d.Cells, mostRuns)
	}
	src := rand.New(rand.NewPCG(uint64(st.Base.Seed), 0x5a3d1e))
	points := make([][]string, d.Cells)
	for _, a := range st.Axes {
		for i, slice := range src.Perm(d.Cells) {
			share := (float64(slice) + src.Float64()) / float64(d.Cells)
			points[i] = append(points[i], a.pick(share))
		}
	}
	slices.SortFunc(points, func(p, q []string) int { return slices.Compare(p, q) })
	return slices.CompactFunc(points, slices.Equal), nil
}

// pick returns the value at a share, below 1, of the way along the axis.
func (a Axis) pick(share float64) string {
	if a.Range != nil {
		return a.readable(a.Range.at(share))
	}
	return a.Values[int(share*float64(len(a.Values)))]
}

// oneAtATime returns the base's cell, and every value of each axis with the others at the
// base's.
func oneAtATime(st *Study) ([][]string, error) {
	for i := range st.Axes {
		if _, err := grid(st.Axes[i : i+1]); err != nil { // an axis without values
			return nil, err
		}
	}
	base := st.base()
	points := [][]string{base}
	for i, a := range st.Axes {
		for _, v := range a.Values {
			if v != base[i] {
				p := slices.Clone(base)
				p[i] = v
				points = append(points, p)
			}
		}
	}
	return points, nil
}

// base returns the value of each axis in the base, or the axis's first one if the base has
// none.
func (st *Study) base() []string {
	own := map[string]string{}
	if variables, err := st.Base.Variables(); err == nil { // else none of the runs is valid
		for _, v := range variables {
			own[v.Name] = v.Text()
		}
	}
	if base, err := scenarios.OutlineOf(st.Base); err == nil {
		own[costAxis] = cmp.Or(st.Base.Cost, base.Machines().Class)
	}
	var base []string
	for _, a := range st.Axes {
		value, err := a.canonical(own[a.Name])
		if err != nil || value == "" {
			value = a.Values[0]
		}
		base = append(base, value)
	}
	return base
}
