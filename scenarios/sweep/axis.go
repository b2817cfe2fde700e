package sweep

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/simctl/simctl/scenarios"
	"github.com/simctl/simctl/scenarios/language"
)

// Kind is the type of a variable's values, as language.Variable has it.
type Kind = string

// costAxis names the class of machines, which varies as variables of the scenario do.
const costAxis = "cost"

// Axis is a variable and the values it is given.
type Axis struct {
	Name string
	Kind Kind
	// Values are distinct, and ascend if they are numbers. They are empty for a Range whose
	// values the Design picks.
	Values []string
	Range  *Range
	// Only names the brokers of the values that are not for every broker.
	Only map[string][]string `json:",omitempty"`
}

// merge adds the values of another axis of the same name; each value keeps its brokers. It
// returns false if one of the two has values for every broker, or no values of its own.
func (a *Axis) merge(b Axis) bool {
	if a.Range != nil || b.Range != nil || a.Only == nil && b.Only == nil {
		return false
	}
	only := map[string][]string{}
	for _, v := range slices.Concat(a.Values, b.Values) {
		inA, inB := slices.Contains(a.Values, v), slices.Contains(b.Values, v)
		if all := inA && a.Only[v] == nil || inB && b.Only[v] == nil; !all {
			only[v] = slices.Compact(slices.Sorted(slices.Values(slices.Concat(a.Only[v], b.Only[v]))))
		}
	}
	a.Values, a.Only = slices.Concat(a.Values, b.Values), only
	a.sort()
	return true
}

// isFor reports whether runs of the broker are given the value.
func (a Axis) isFor(value, broker string) bool {
	only := a.Only[value]
	return only == nil || slices.Contains(only, broker)
}

// Range is all numbers from Low to High, which is larger.
type Range struct {
	Low, High float64
}

// mostValues bounds the values of one axis, so that a slip of the finger is an error and not a
// year of work.
const mostValues = 1000

// grammar describes an axis, for errors.
const grammar = "it must be NAME=VALUE,… or NAME=FROM..TO with :log5, :lin5 or :+500 to say which values, such as nodes=1000,5000 or system_jobs=1..100:log5"

// parseAxis reads an axis over one of the variables: a list of values and ranges. A broker
// before the name limits the values to its runs. The error says on one line what is wrong with
// which part.
func parseAxis(text string, variables []language.Variable) (Axis, error) {
	name, list, ok := strings.Cut(text, "=")
	broker, rest, one := strings.Cut(name, ":")
	if one {
		name = rest
	}
	name = strings.ReplaceAll(strings.TrimSpace(name), "-", "_")
	if !ok || name == "" {
		return Axis{}, fmt.Errorf("%q is no axis: %s", text, grammar)
	}
	a := Axis{Name: name, Kind: language.TypeString}
	if i := slices.IndexFunc(variables, func(v language.Variable) bool { return v.Name == name }); i >= 0 {
		a.Kind = variables[i].Type
	} else if name != costAxis {
		return Axis{}, &UnknownError{What: "axis", Name: name, Known: namesOf(variables)}
	}
	items := strings.Split(list, ",")
	for _, item := range items {
		item = strings.TrimSpace(item)
		values, open, err := a.parseItem(item)
		switch {
		case err != nil:
			return Axis{}, fmt.Errorf("axis %s: %w", name, err)
		case open != nil && len(items) > 1:
			return Axis{}, fmt.Errorf("axis %s: the range %q among other values must say which of its values, such as %s:log5", name, item, item)
		}
		a.Range = open
		a.Values = append(a.Values, values...)
		if len(a.Values) > mostValues {
			return Axis{}, fmt.Errorf("axis %s: %q has more than %d values", name, item, mostValues)
		}
	}
	a.sort()
	if !one {
		return a, nil
	}
	if a.Range != nil {
		return Axis{}, fmt.Errorf("axis %s: the values of one broker alone must be named, such as %s:%s=%s:log5", name, broker, name, list)
	}
	a.Only = map[string][]string{}
	for _, v := range a.Values {
		a.Only[v] = []string{strings.TrimSpace(broker)}
	}
	return a, nil
}

// UnknownError is a name that is not among those known.
type UnknownError struct {
	What, Name string
	Known      []string
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("unknown %s %q: it must be one of %s", e.What, e.Name, strings.Join(e.Known, ", "))
}

func namesOf(variables []language.Variable) []string {
	var names []string
	for _, v := range variables {
		names = append(names, v.Name)
	}
	return append(names, costAxis)
}

// numeric reports whether the values are numbers. Durations are numbers of seconds.
func (a Axis) numeric() bool {
	return a.Kind == language.TypeInteger || a.Kind == language.TypeNumber || a.Kind == language.TypeDuration
}

// unit returns what a value needs behind it where the scenario reads it.
func (a Axis) unit() string {
	if a.Kind == language.TypeDuration {
		return "s"
	}
	return ""
}

// set gives the variable one of the axis's values.
func (a Axis) set(spec *scenarios.Spec, value string) {
	if a.Name == costAxis {
		spec.Cost = value
		return
	}
	spec.Set(a.Name, value+a.unit())
}

// parseItem reads one value, or a range and its values. It returns a range that does not say
// which values as it is.
func (a Axis) parseItem(item string) ([]string, *Range, error) {
	if item == "" {
		return nil, nil, fmt.Errorf("it has an empty value: %s", grammar)
	}
	from, rest, isRange := strings.Cut(item, "..")
	if !isRange || !a.numeric() {
		value, err := a.canonical(item)
		return []string{value}, nil, err
	}
	to, step, hasStep := strings.Cut(rest, ":")
	low, err := a.number(from)
	if err != nil {
		return nil, nil, err
	}
	high, err := a.number(to)
	switch {
	case err != nil:
		return nil, nil, err
	case low >= high:
		return nil, nil, fmt.Errorf("the range %q is empty: it must go from a smaller to a larger number", item)
	}
	r := &Range{low, high}
	if !hasStep {
		return nil, r, nil
	}
	points, err := r.points(step)
	if err != nil {
		return nil, nil, fmt.Errorf("the range %q: %w", item, err)
	}
	values := make([]string, len(points))
	for i, p := range points {
		values[i] = a.readable(p)
	}
	return values, nil, nil
}

// points returns the numbers of the range that a step such as log5, lin5 or +500 names.
func (r Range) points(step string) ([]float64, error) {
	if by, ok := strings.CutPrefix(step, "+"); ok {
		return r.every(step, by)
	}
	at := r.linear
	count, ok := strings.CutPrefix(step, "lin")
	if !ok {
		at = r.geometric
		if count, ok = strings.CutPrefix(step, "log"); !ok {
			return nil, fmt.Errorf("%q does not say which values: it must be logN, linN or +STEP, such as log5, lin5 or +500", step)
		}
		if r.Low <= 0 {
			return nil, fmt.Errorf("%q needs numbers above 0: use lin%s", step, count)
		}
	}
	n, err := strconv.Atoi(count)
	if err != nil || n < 2 || n > mostValues {
		return nil, fmt.Errorf("%q must name a number of values from 2 to %d", step, mostValues)
	}
	points := make([]float64, n)
	for i := range points {
		points[i] = at(float64(i) / float64(n-1))
	}
	return points, nil
}

// every returns the numbers from Low on in equal steps.
func (r Range) every(step, by string) ([]float64, error) {
	width, err := strconv.ParseFloat(by, 64)
	if err != nil || !(width > 0) {
		return nil, fmt.Errorf("the step %q must be a number above 0", step)
	}
	if (r.High-r.Low)/width > mostValues {
		return nil, fmt.Errorf("the step %q makes more than %d values", step, mostValues)
	}
	var points []float64
	for i := 0; ; i++ {
		p := r.Low + float64(i)*width
		if p > r.High+math.Abs(r.High)*1e-12 {
			return points, nil
		}
		points = append(points, p)
	}
}

// geometric and linear return the number at a share of the way from Low to High.
func (r Range) geometric(share float64) float64 { return r.Low * math.Pow(r.High/r.Low, share) }
func (r Range) linear(share float64) float64    { return r.Low + share*(r.High-r.Low) }

// at returns the number at a share of the way: in equal factors if the range spans tenfold or
// more, else in equal steps.
func (r Range) at(share float64) float64 {
	if r.Low > 0 && r.High/r.Low >= 10 {
		return r.geometric(share)
	}
	return r.linear(share)
}

// canonical returns the one spelling of a value that is used everywhere.
func (a Axis) canonical(text string) (string, error) {
	if a.numeric() {
		v, err := a.number(text)
		if err != nil {
			return "", err
		}
		return a.format(v), nil
	}
	if a.Kind == language.TypeBool {
		v, err := strconv.ParseBool(text)
		if err != nil {
			return "", fmt.Errorf("%q is neither true nor false", text)
		}
		return strconv.FormatBool(v), nil
	}
	return text, nil
}

// number reads a number of the axis; durations such as 5s are seconds.
func (a Axis) number(text string) (float64, error) {
	text = strings.TrimSpace(text)
	v, err := strconv.ParseFloat(text, 64)
	inSeconds := a.Kind == language.TypeDuration || strings.HasSuffix(a.Name, "_s")
	if d, notOne := time.ParseDuration(text); inSeconds && err != nil && notOne == nil {
		v, err = d.Seconds(), nil
	}
	what := map[Kind]string{language.TypeInteger: "a whole number", language.TypeNumber: "a number", language.TypeDuration: "a duration"}[a.Kind]
	switch {
	case err != nil || math.IsNaN(v) || math.IsInf(v, 0):
		if share, ok := strings.CutSuffix(text, "%"); ok && a.Kind == language.TypeNumber {
			if v, err := strconv.ParseFloat(share, 64); err == nil {
				return 0, fmt.Errorf("%q is not %s: write it as %g", text, what, v/100)
			}
		}
		return 0, fmt.Errorf("%q is not %s", text, what)
	case a.Kind == language.TypeInteger && (v != math.Trunc(v) || math.Abs(v) > 1<<53):
		return 0, fmt.Errorf("%q is not a whole number", text)
	}
	return v, nil
}

// format writes a number of the axis.
func (a Axis) format(v float64) string {
	if a.Kind == language.TypeInteger {
		v = math.Round(v)
	}
	return strconv.FormatFloat(v+0, 'f', -1, 64) // + 0 makes a plain zero of a negative one
}

// readable formats a computed number to six digits, so that people can say it.
func (a Axis) readable(v float64) string {
	if a.Kind != language.TypeInteger {
		v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
	}
	return a.format(v)
}

// sort puts the values in order and drops duplicates.
func (a *Axis) sort() {
	if !a.numeric() {
		var distinct []string
		for _, v := range a.Values {
			if !slices.Contains(distinct, v) {
				distinct = append(distinct, v)
			}
		}
		a.Values = distinct
		return
	}
	slices.SortStableFunc(a.Values, func(x, y string) int {
		p, _ := strconv.ParseFloat(x, 64)
		q, _ := strconv.ParseFloat(y, 64)
		return cmp.Compare(p, q)
	})
	a.Values = slices.Compact(a.Values)
}
