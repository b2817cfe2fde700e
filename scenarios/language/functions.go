package language

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// functions are the functions that expressions can call. ceil, floor and round first round
// their argument to a float64, so that 1.1 / 0.55 is 2.
var functions = map[string]function.Function{
	"abs": stdlib.AbsoluteFunc, "min": stdlib.MinFunc, "max": stdlib.MaxFunc,
	"ceil": rounding(math.Ceil), "floor": rounding(math.Floor),
	"round":  rounding(func(f float64) float64 { return math.Floor(f + 0.5) }),
	"length": stdlib.LengthFunc, "concat": stdlib.ConcatFunc,
	"seconds": secondsFunction,

	"constant":    distributionFunction("constant", "value"),
	"uniform":     distributionFunction("uniform", "least", "most"),
	"exponential": distributionFunction("exponential", "mean"),
	"normal":      distributionFunction("normal", "mean", "deviation"),
}

func rounding(to func(float64) float64) function.Function {
	return ofNumber(cty.Number, func(f float64) (cty.Value, error) {
		if math.IsInf(f, 0) {
			return cty.NilVal, errors.New("it is infinite")
		}
		return cty.NumberFloatVal(to(f)), nil
	})
}

// secondsFunction turns a number into a duration, for computing with them.
var secondsFunction = ofNumber(cty.String, func(f float64) (cty.Value, error) {
	text := strconv.FormatFloat(f, 'f', 9, 64) + "s"
	_, err := parseDuration(text)
	return cty.StringVal(text), err
})

// ofNumber makes a function of one number.
func ofNumber(result cty.Type, impl func(float64) (cty.Value, error)) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "number", Type: cty.Number}},
		Type:   function.StaticReturnType(result),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			f, _ := args[0].AsBigFloat().Float64()
			value, err := impl(f)
			if err != nil {
				return cty.NilVal, function.NewArgError(0, err)
			}
			return value, nil
		},
	})
}

// maxDuration is the longest duration in a file. Sums of such durations do not overflow.
const maxDuration = 10 * 365 * 24 * time.Hour

// parseDuration reads a duration of zero or more.
func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf(`%q is no duration, such as "90s", "1.5ms" or "2h"`, text)
	}
	if d < 0 {
		return 0, fmt.Errorf("%s is negative", text)
	}
	if d > maxDuration {
		return 0, fmt.Errorf("%s is longer than ten years", text)
	}
	return d, nil
}

// Distribution is a distribution of durations. The zero value always draws zero.
type Distribution struct {
	Kind string // constant, uniform, exponential or normal; empty = constant
	// A and B are the value; the bounds; the mean; the mean and the standard deviation.
	A, B time.Duration
}

// IsZero reports whether d is the zero value.
func (d Distribution) IsZero() bool { return d == Distribution{} }

// Mean returns what draws are on average; a normal distribution counts as if it were not cut at zero.
func (d Distribution) Mean() time.Duration {
	if d.Kind == "uniform" {
		return d.A + (d.B-d.A)/2
	}
	return d.A
}

// Draw takes one value. A constant draws nothing from r; the others take exactly one call
// of the method named: uniform Float64 (A + f(B-A)), exponential ExpFloat64 (A f), normal
// NormFloat64 (A + f B, never below zero).
func (d Distribution) Draw(r *rand.Rand) time.Duration {
	switch d.Kind {
	case "uniform":
		return d.A + time.Duration(r.Float64()*float64(d.B-d.A))
	case "exponential":
		return clamp(r.ExpFloat64() * float64(d.A))
	case "normal":
		return clamp(float64(d.A) + r.NormFloat64()*float64(d.B))
	}
	return d.A
}

// clamp limits a draw to a Duration that can be added to an instant.
func clamp(ns float64) time.Duration {
	return time.Duration(min(max(ns, 0), math.MaxInt64/4))
}

// distributionValue carries a Distribution from a function of a file to the decoder.
var distributionValue = cty.Capsule("distribution", distributionType)

// distributionFunction makes the function of one kind, which takes durations.
func distributionFunction(kind string, params ...string) function.Function {
	spec := &function.Spec{Type: function.StaticReturnType(distributionValue)}
	for _, name := range params {
		spec.Params = append(spec.Params, function.Parameter{Name: name, Type: cty.String})
	}
	spec.Impl = func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		d := Distribution{Kind: kind}
		for i, into := range []*time.Duration{&d.A, &d.B}[:len(args)] {
			v, err := parseDuration(args[i].AsString())
			if err != nil {
				return cty.NilVal, function.NewArgError(i, err)
			}
			*into = v
		}
		if kind == "uniform" && d.B < d.A {
			return cty.NilVal, function.NewArgErrorf(1, "%v is below the least, %v", d.B, d.A)
		}
		return cty.CapsuleVal(distributionValue, &d), nil
	}
	return function.New(spec)
}
