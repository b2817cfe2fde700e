package main

import (
	"math"
	"testing"
	"time"
)

func TestParseSize(t *testing.T) {
	for text, want := range map[string]size{"1GiB": 1 << 30, "1.5GiB": 3 << 29, "800MB": 800e6, "2 TB": 2e12, "1048576": 1 << 20, "4096KiB": 4 << 20} {
		if got, err := parseSize(text); err != nil || got != want {
			t.Errorf("%s is %d (%v), want %d", text, got, err, want)
		} else if again, err := parseSize(got.String()); err != nil || again != got {
			t.Errorf("%s is written as %v, which is %d (%v)", text, got, again, err)
		}
	}
	for _, text := range []string{"", "5", "-1GiB", "NaN", "GiB", "1e99GB", "six"} {
		if got, err := parseSize(text); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
}

func TestParseShare(t *testing.T) {
	for text, want := range map[string]float64{"10%": 0.1, "0.1": 0.1, "100%": 1, "0": 0, "1": 1} {
		if got, err := parseShare(text); err != nil || math.Abs(got-want) > 1e-12 {
			t.Errorf("%s is %g (%v), want %g", text, got, err, want)
		}
	}
	for _, text := range []string{"", "%", "101%", "1.1", "-1%", "NaN", "ten"} {
		if got, err := parseShare(text); err == nil {
			t.Errorf("%q is %g", text, got)
		}
	}
}

func TestRoughly(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "1 s", 42 * time.Second: "42 s", 10 * time.Minute: "10 min", 150 * time.Minute: "2.5 h"} {
		if got := roughly(d); got != want {
			t.Errorf("%v is roughly %q, want %q", d, got, want)
		}
	}
}
