package language

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// Distribution is a distribution of durations. The zero value always draws zero.
type Distribution struct {
	Kind string // constant, uniform, exponential or normal; empty = constant
	// A and B are the value; the bounds; the mean; the mean and the standard deviation.
	A, B time.Duration
}

// IsZero reports whether d is the zero value.
func (d Distribution) IsZero() bool { return d == Distribution{} }

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
