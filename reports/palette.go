package reports

import (
	"fmt"
	"image/color"
	"math"

	"github.com/simctl/simctl/metrics"
)

// The colours are those of Okabe and Ito, which people with any kind of colour vision can
// tell apart. Two belong to the runs alone: vermillion is always the old design, blue the
// new one.
var (
	vermillion = rgb(0xd5, 0x5e, 0x00)
	blue       = rgb(0x00, 0x72, 0xb2)
	orange     = rgb(0xe6, 0x9f, 0x00)
	sky        = rgb(0x56, 0xb4, 0xe9)
	green      = rgb(0x00, 0x9e, 0x73)
	yellow     = rgb(0xf0, 0xe4, 0x42)
	purple     = rgb(0xcc, 0x79, 0xa7)
	grey       = rgb(0x9a, 0x9a, 0x9a)

	ink   = rgb(0x22, 0x22, 0x22) // text
	faint = rgb(0x66, 0x66, 0x66) // secondary text, axes
	rule  = rgb(0xe2, 0xe2, 0xe2) // grid
	paper = rgb(0xff, 0xff, 0xff)
)

func rgb(r, g, b uint8) color.NRGBA { return color.NRGBA{r, g, b, 0xff} }

// translucent returns the colour at some opacity (0 to 1).
func translucent(c color.NRGBA, opacity float64) color.NRGBA {
	c.A = uint8(opacity*255 + 0.5)
	return c
}

// tint returns the opaque colour that the translucent one has on paper. Areas that touch
// are drawn opaque, since translucent ones show a seam where they meet.
func tint(c color.NRGBA, opacity float64) color.NRGBA {
	mix := func(v uint8) uint8 { return uint8(float64(v)*opacity + 255*(1-opacity) + 0.5) }
	return rgb(mix(c.R), mix(c.G), mix(c.B))
}

// readableOn returns the colour of text on a background: the one of ink and paper that
// stands out more.
func readableOn(c color.NRGBA) color.NRGBA {
	linear := func(v uint8) float64 { return math.Pow(float64(v)/255, 2.2) }
	if 0.2126*linear(c.R)+0.7152*linear(c.G)+0.0722*linear(c.B) > 0.2 {
		return ink
	}
	return paper
}

func hex(c color.NRGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

// runColors gives every run its colour. Legacy and shedding have theirs wherever they
// stand; other brokers take the first that is free. Several runs of a broker have shades of
// its colour. Where all runs have one broker, the first is the old and the second the new
// one.
func runColors(runs []*metrics.Result) []color.NRGBA {
	more := []color.NRGBA{green, purple, orange, sky, grey}
	var brokers []string // each once, in order
	count := map[string]int{}
	for _, r := range runs {
		if count[r.Run.Broker]++; count[r.Run.Broker] == 1 {
			brokers = append(brokers, r.Run.Broker)
		}
	}
	out := make([]color.NRGBA, len(runs))
	if len(brokers) == 1 && len(runs) > 1 {
		all := append([]color.NRGBA{vermillion, blue}, more...)
		for i := range out {
			out[i] = all[i%len(all)]
		}
		return out
	}
	own := map[string]color.NRGBA{"legacy": vermillion, "shedding": blue}
	var free []color.NRGBA
	for _, name := range []string{"legacy", "shedding"} {
		if count[name] == 0 {
			free = append(free, own[name])
		}
	}
	free = append(free, more...)
	for _, b := range brokers {
		if _, ok := own[b]; !ok {
			own[b], free = free[0], append(free[1:], free[0])
		}
	}
	seen := map[string]int{}
	for i, r := range runs {
		out[i] = shade(own[r.Run.Broker], seen[r.Run.Broker], count[r.Run.Broker])
		seen[r.Run.Broker]++
	}
	return out
}

// shade returns the colour of the i-th of n runs that share a hue: itself for the first,
// then ever darker and lighter ones.
func shade(c color.NRGBA, i, n int) color.NRGBA {
	if i == 0 {
		return c
	}
	steps := float64(n/2 + 1)
	step := float64((i + 1) / 2)
	if i%2 == 0 {
		return tint(c, 1-0.75*step/steps)
	}
	dark := func(v uint8) uint8 { return uint8(float64(v)*(1-0.75*step/steps) + 0.5) }
	return rgb(dark(c.R), dark(c.G), dark(c.B))
}
