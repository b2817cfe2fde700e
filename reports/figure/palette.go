package figure

import (
	"fmt"
	"image/color"
	"math"
)

// Most colours are those of Okabe and Ito, which people with any kind of colour vision can
// tell apart. Two of them belong to runs alone: vermillion is always the old design, blue the
// new one. The other six are for what charts show of a run.
var (
	Vermillion = RGB(0xd5, 0x5e, 0x00)
	Blue       = RGB(0x00, 0x72, 0xb2)
	Orange     = RGB(0xe6, 0x9f, 0x00)
	Sky        = RGB(0x56, 0xb4, 0xe9)
	Green      = RGB(0x00, 0x9e, 0x73)
	Yellow     = RGB(0xf0, 0xe4, 0x42)
	Purple     = RGB(0xcc, 0x79, 0xa7)
	Grey       = RGB(0x9a, 0x9a, 0x9a)

	// These are of further runs. They stand out from all of the above, also without red, green
	// or blue, and from paper that is white or dark.
	violet = RGB(0x99, 0x11, 0xff)
	brown  = RGB(0x99, 0x55, 0x22)
	plum   = RGB(0xaa, 0x33, 0x77)
	moss   = RGB(0x55, 0x66, 0x44)
	rose   = RGB(0xff, 0x22, 0x66)
	indigo = RGB(0x66, 0x44, 0xcc)

	Ink   = RGB(0x22, 0x22, 0x22) // text
	faint = RGB(0x66, 0x66, 0x66) // secondary text, axes
	Rule  = RGB(0xe2, 0xe2, 0xe2) // grid
	paper = RGB(0xff, 0xff, 0xff)
)

// RGB returns an opaque colour.
func RGB(r, g, b uint8) color.NRGBA { return color.NRGBA{r, g, b, 0xff} }

// translucent returns the colour at some opacity (0 to 1).
func translucent(c color.NRGBA, opacity float64) color.NRGBA {
	c.A = uint8(opacity*255 + 0.5)
	return c
}

// tint returns the opaque colour that a translucent one has on paper. Areas that touch are
// opaque, because translucent ones show a seam where they meet.
func tint(c color.NRGBA, opacity float64) color.NRGBA {
	mix := func(v uint8) uint8 { return uint8(float64(v)*opacity + 255*(1-opacity) + 0.5) }
	return RGB(mix(c.R), mix(c.G), mix(c.B))
}

// ReadableOn returns the colour of text on a background: ink or paper, whichever stands out
// more.
func ReadableOn(c color.NRGBA) color.NRGBA {
	linear := func(v uint8) float64 { return math.Pow(float64(v)/255, 2.2) }
	if 0.2126*linear(c.R)+0.7152*linear(c.G)+0.0722*linear(c.B) > 0.2 {
		return Ink
	}
	return paper
}

// Hex returns the colour as CSS writes it, such as #d55e00.
func Hex(c color.NRGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

// RunColors returns the colours of runs, given the broker of each. Legacy and shedding have
// their own wherever they stand; other brokers take the first free ones. Runs of one broker
// have shades of its colour. If all runs have one broker, the first counts as the old design
// and the second as the new one.
func RunColors(runs []string) []color.NRGBA {
	more := []color.NRGBA{violet, brown, plum, moss, rose, indigo}
	var brokers []string // each once, in order
	count := map[string]int{}
	for _, b := range runs {
		if count[b]++; count[b] == 1 {
			brokers = append(brokers, b)
		}
	}
	out := make([]color.NRGBA, len(runs))
	if len(brokers) == 1 && len(runs) > 1 {
		all := append([]color.NRGBA{Vermillion, Blue}, more...)
		for i := range out {
			out[i] = all[i%len(all)]
		}
		return out
	}
	own := map[string]color.NRGBA{"legacy": Vermillion, "shedding": Blue}
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
	for i, b := range runs {
		out[i] = shade(own[b], seen[b], count[b])
		seen[b]++
	}
	return out
}

// shade returns the colour of the i-th of n runs that share a hue. The first has the hue
// itself; the others are ever darker and lighter.
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
	return RGB(dark(c.R), dark(c.G), dark(c.B))
}

// Blend mixes two colours: a at a share of 0, b at 1.
func Blend(a, b color.NRGBA, share float64) color.NRGBA {
	mix := func(p, q uint8) uint8 { return uint8(float64(p) + share*(float64(q)-float64(p)) + 0.5) }
	return RGB(mix(a.R, b.R), mix(a.G, b.G), mix(a.B, b.B))
}
