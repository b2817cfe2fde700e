package reports

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/simctl/simctl/metrics"
)

// missing stands for a figure that there is none of, never for a time that did not come.
const (
	missing = "-"
	never   = "never"
)

// noClock is from how many seconds on hours and minutes no longer help: thirty years.
const noClock = 1e9

// clock formats seconds as m:ss, or h:mm:ss from an hour on; below ten seconds with tenths.
func clock(s float64) string {
	sign := ""
	if s < 0 {
		sign, s = "-", -s
	}
	if s >= noClock {
		return sign + si(s) + " s"
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

// grouped formats a whole number with commas between thousands.
func grouped(v float64) string {
	digits := strconv.FormatFloat(math.Abs(math.Round(v)), 'f', 0, 64)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	if v <= -0.5 {
		return "-" + b.String()
	}
	return b.String()
}

// si formats a value in at most four digits with an SI prefix: 950, 12k, 1.25M. Numbers
// beyond all measure get an exponent.
func si(v float64) string {
	abs := math.Abs(v)
	if abs >= 1e15 || abs > 0 && abs < 1e-4 {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	for _, p := range []struct {
		factor float64
		prefix string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if abs >= p.factor*0.9995 {
			return short(v/p.factor) + p.prefix
		}
	}
	return short(v)
}

// short formats a value to three significant digits without an exponent.
func short(v float64) string {
	s := strconv.FormatFloat(v, 'g', 3, 64)
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return s
}

// duration formats seconds with a fitting unit: 850 µs, 12 ms, 3.2 s, then as clock does.
func duration(s float64) string {
	switch abs := math.Abs(s); {
	case abs == 0:
		return "0 s"
	case abs < 0.9995e-3:
		return short(s*1e6) + " µs"
	case abs < 0.9995:
		return short(s*1e3) + " ms"
	case abs < 59.95:
		return short(s) + " s"
	}
	return clock(s)
}

// exact formats a value with every digit it has.
func exact(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func percent(share float64) string { return short(100*share) + "%" }

func bytesSI(n uint64) string { return si(float64(n)) + "B" }

// value formats a metric of a phase for people.
func value(m metrics.Metric, v float64) string {
	switch {
	case m.Optional && v == 0:
		return missing
	case m.Time() && v < 0:
		return never
	case m.Time():
		return clock(v)
	}
	return grouped(v)
}

// signed formats the difference of a metric.
func signed(d metrics.Delta) string {
	if d.Delta == nil {
		return missing
	}
	if *d.Delta == 0 {
		return "0"
	}
	text := grouped(*d.Delta)
	if d.Unit == "s" {
		text = clock(*d.Delta)
	}
	if *d.Delta > 0 {
		return "+" + text
	}
	return text
}

// factor formats the ratio of a metric as what to multiply or divide the old value by.
func factor(d metrics.Delta) string {
	switch {
	case d.Ratio == nil || *d.Ratio == 0:
		return missing
	case d.Old == d.New:
		return "="
	case *d.Ratio < 1:
		return "÷" + times(1 / *d.Ratio)
	}
	return "×" + times(*d.Ratio)
}

// times formats a factor of at least one to about three digits.
func times(x float64) string {
	switch {
	case x < 9.995:
		return strconv.FormatFloat(x, 'f', 2, 64)
	case x < 99.95:
		return strconv.FormatFloat(x, 'f', 1, 64)
	}
	return grouped(x)
}
