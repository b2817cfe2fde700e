package wording

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"

	"github.com/simctl/simctl/metrics"
)

// missing stands for a figure that there is none of, never for a time that did not come.
const (
	Missing = "-"
	Never   = "never"
	same    = "=" // of a ratio

	// Deploying stands for the recovery from a phase that ended while a deployment was under way.
	Deploying = "deploying"
)

// MaxClock is the number of seconds, thirty years, from which on a clock says nothing.
const MaxClock = 1e9

// Clock formats seconds as m:ss, or as h:mm:ss from an hour on. Below ten seconds it adds
// tenths.
func Clock(s float64) string {
	sign := ""
	if s < 0 {
		sign, s = "-", -s
	}
	if s >= MaxClock {
		return sign + SI(s) + " s"
	}
	if s < 9.95 {
		return fmt.Sprintf("%s0:%04.1f", sign, s)
	}
	n := int64(math.Round(s))
	if n < 3600 {
		return fmt.Sprintf("%s%d:%02d", sign, n/60, n%60)
	}
	return fmt.Sprintf("%s%d:%02d:%02d", sign, n/3600, n/60%60, n%60)
}

// Grouped formats a number, rounded to a whole one, with commas between thousands.
func Grouped(v float64) string {
	return humanize.Commaf(math.Round(v) + 0) // + 0 makes a plain zero of a negative one
}

// SI formats a value in at most four digits with an SI prefix: 950, 12k, 1.25M. Numbers
// without a prefix have an exponent.
func SI(v float64) string {
	abs := math.Abs(v)
	if abs >= 1e15 || abs > 0 && abs < 1e-4 {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	for _, p := range []struct {
		factor float64
		prefix string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if abs >= p.factor*0.9995 {
			return Short(v/p.factor) + p.prefix
		}
	}
	return Short(v)
}

// Short formats a value to three significant digits without an exponent.
func Short(v float64) string {
	s := strconv.FormatFloat(v, 'g', 3, 64)
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return s
}

// Duration formats seconds with a fitting unit: 850 µs, 12 ms, 3.2 s, then as Clock does.
func Duration(s float64) string {
	switch abs := math.Abs(s); {
	case abs == 0:
		return "0 s"
	case abs < 0.9995e-3:
		return Short(s*1e6) + " µs"
	case abs < 0.9995:
		return Short(s*1e3) + " ms"
	case abs < 59.95:
		return Short(s) + " s"
	}
	return Clock(s)
}

// Count writes a number of things.
func Count(n int, what string) string { return english.Plural(n, what, "") }

// Exact formats a value with all of its digits.
func Exact(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// round rounds to the nearest of so many parts of one.
func round(v, parts float64) float64 { return math.Round(v*parts) / parts }

// Percent formats a share, 0 to 1.
func Percent(share float64) string { return Short(100*share) + "%" }

// BytesSI formats a number of bytes with an SI prefix.
func BytesSI(n uint64) string { return SI(float64(n)) + "B" }

// Value formats a metric of a phase.
func Value(m metrics.Metric, v float64) string {
	switch {
	case !m.Measured(v):
		return Missing
	case m.Time() && v < 0:
		return Never
	case m.Time():
		return Clock(v)
	}
	return Grouped(v)
}

// signed formats the difference of a metric. A difference that rounds to zero is "0", without a sign.
func signed(d metrics.Delta) string {
	if d.Delta == nil {
		return Missing
	}
	format := Grouped
	if d.Unit == "s" {
		format = Clock
	}
	return signedText(*d.Delta, format)
}

func signedText(delta float64, format func(float64) string) string {
	switch text := format(math.Abs(delta)); {
	case text == format(0):
		return "0"
	case delta < 0:
		return "-" + text
	default:
		return "+" + text
	}
}

// factor formats the ratio of a metric as what the old value is multiplied or divided by.
func factor(d metrics.Delta) string {
	if d.Ratio == nil || *d.Ratio == 0 {
		return Missing
	}
	return RatioText(*d.Ratio)
}

func multiple(ratio float64) string {
	if ratio < 1 {
		return "÷" + Times(1/ratio)
	}
	return "×" + Times(ratio)
}

// Times formats a factor of at least one to about three digits.
func Times(x float64) string {
	switch {
	case x < 9.995:
		return strconv.FormatFloat(x, 'f', 2, 64)
	case x < 99.95:
		return strconv.FormatFloat(x, 'f', 1, 64)
	}
	return Grouped(x)
}

// RatioText formats a ratio as what the old value is multiplied or divided by.
func RatioText(ratio float64) string {
	if math.Abs(ratio-1) < 0.005 {
		return same
	}
	return multiple(ratio)
}

// MarkdownCell escapes what would end a cell of a Markdown table, or its line.
func MarkdownCell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;").Replace(text)
}

// ClockFormat names the format of instants up to a highest one.
func ClockFormat(highest float64) string {
	if highest >= 3600 {
		return "(h:mm)"
	}
	return "(mm:ss)"
}
