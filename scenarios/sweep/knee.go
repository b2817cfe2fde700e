package sweep

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/scenarios/language"
)

// The knee of an axis is where the limits start to fail. A search starts at the low end,
// doubles the value until a cell fails, and bisects between the last cell that passed and the
// first that failed. It never runs cells far beyond the knee, which cost most.

// defaultWithin is how close a search gets by default.
const defaultWithin = 0.1

// kneeAxis returns the index of the axis that is searched.
func (d Design) kneeAxis(st *Study) (int, error) {
	i := slices.IndexFunc(st.Axes, func(a Axis) bool { return a.Name == d.Axis })
	switch {
	case i < 0:
		var names []string
		for _, a := range st.Axes {
			names = append(names, a.Name)
		}
		return 0, &UnknownError{What: "axis of the knee", Name: d.Axis, Known: names}
	case !st.Axes[i].numeric():
		return 0, fmt.Errorf("the knee of %s: its values are no numbers", d.Axis)
	case len(st.Limits) == 0:
		return 0, fmt.Errorf("the knee of %s is where a limit starts to fail: name one, such as recovery_s<=300", d.Axis)
	case st.Axes[i].Range == nil && len(st.Axes[i].Values) < 2:
		return 0, fmt.Errorf("the knee of %s: there must be a range to search, such as %s=1000..20000", d.Axis, d.Axis)
	}
	return i, nil
}

// ends returns where the search of an axis begins and ends.
func (a Axis) ends() Range {
	if a.Range != nil {
		return *a.Range
	}
	low, _ := a.number(a.Values[0])
	high, _ := a.number(a.Values[len(a.Values)-1])
	return Range{low, high}
}

// kneePoints returns the cells at which the searches begin, and the most steps of one search.
func (d Design) kneePoints(st *Study) ([][]string, int, error) {
	at, err := d.kneeAxis(st)
	if err != nil {
		return nil, 0, err
	}
	axes := slices.Clone(st.Axes)
	ends := axes[at].ends()
	axes[at] = Axis{Name: d.Axis, Kind: axes[at].Kind, Values: []string{axes[at].format(ends.Low)}}
	points, err := grid(axes)
	if err != nil {
		return nil, 0, err
	}
	// Where the knee is decides how many steps a search takes.
	most := 0
	for i := range 64 {
		worst := ends.linear(float64(i) / 64)
		s := newSearch(st.Axes[at], d.Within)
		steps := 0
		for value, ok := s.next(); ok; value, ok = s.next() {
			v, _ := st.Axes[at].number(value)
			s.tell(value, v <= worst)
			steps++
		}
		most = max(most, steps)
	}
	return points, most, nil
}

// search is the state of one search: which values passed and failed so far.
type search struct {
	axis           Axis
	ends           Range
	within         float64
	passes, fails  float64
	passed, failed bool
}

func newSearch(a Axis, within float64) *search {
	if within <= 0 {
		within = defaultWithin
	}
	return &search{axis: a, ends: a.ends(), within: within}
}

// next returns the value to try next; false if the search is over.
func (s *search) next() (string, bool) {
	var v float64
	switch {
	case !s.passed && !s.failed:
		v = s.ends.Low
	case !s.passed: // the range has nothing below its low end
		return "", false
	case s.failed:
		near := s.within * s.fails
		if s.passes <= 0 { // else it would halve the value as long as there are smaller numbers
			near = max(near, (s.ends.High-s.ends.Low)/1e6)
		}
		if s.fails-s.passes <= near {
			return "", false
		}
		v = Range{s.passes, s.fails}.at(0.5)
	case s.passes >= s.ends.High:
		return "", false
	case s.passes > 0:
		v = min(2*s.passes, s.ends.High)
	default:
		v = min(s.passes+(s.ends.High-s.ends.Low)/8, s.ends.High)
		if s.axis.Kind == language.TypeInteger {
			v = math.Max(math.Round(v), s.passes+1)
		}
	}
	text := s.axis.readable(v)
	if v, _ = s.axis.number(text); s.passed && v <= s.passes || s.failed && v >= s.fails {
		return "", false // there is no value in between
	}
	return text, true
}

// tell records whether the value that next returned passed.
func (s *search) tell(value string, passes bool) {
	v, _ := s.axis.number(value)
	if passes {
		s.passes, s.passed = v, true
	} else {
		s.fails, s.failed = v, true
	}
}

// knees searches every combination of the other axes under every broker, all at once. A cell
// passes if all its runs do; a run that failed does not.
func (st *Study) knees(ctx context.Context, do func(context.Context, []Run) ([]metrics.SweepRun, error)) ([]metrics.Knee, error) {
	at, err := st.Design.kneeAxis(st)
	if err != nil {
		return nil, err
	}
	starts, _, err := st.Design.kneePoints(st)
	if err != nil {
		return nil, err
	}
	knees := make([]metrics.Knee, len(starts)*len(st.Brokers))
	group, ctx := errgroup.WithContext(ctx)
	for i, start := range starts {
		for j, broker := range st.Brokers {
			group.Go(func() error {
				s := newSearch(st.Axes[at], st.Design.Within)
				err := st.search(ctx, s, start, at, broker, do)
				knee := s.knee(start, at, broker)
				reached, limited := errors.AsType[*LimitError](err)
				if limited {
					knee.Limit = reached.Limit
				}
				knees[i*len(st.Brokers)+j] = knee
				if limited && ctx.Err() == nil {
					return nil // of this search alone
				}
				return err
			})
		}
	}
	return knees, group.Wait()
}

// search runs cells until s is over. The error is a *LimitError if a limit ended it.
func (st *Study) search(ctx context.Context, s *search, start []string, at int, broker string,
	do func(context.Context, []Run) ([]metrics.SweepRun, error)) error {
	for value, ok := s.next(); ok; value, ok = s.next() {
		point := slices.Clone(start)
		point[at] = value
		runs, err := st.runsAt(point, []string{broker})
		if err != nil {
			return err
		}
		done, err := do(ctx, runs)
		if err != nil {
			return err
		}
		s.tell(value, metrics.Cell{Runs: done}.Passes(st.Limits))
	}
	return nil
}

func (s *search) knee(start []string, at int, broker string) metrics.Knee {
	k := metrics.Knee{Axis: s.axis.Name, Point: slices.Clone(start), Broker: broker}
	k.Point[at] = ""
	if s.passed {
		k.Passes = s.axis.format(s.passes)
	}
	if s.failed {
		k.Fails = s.axis.format(s.fails)
	}
	return k
}
