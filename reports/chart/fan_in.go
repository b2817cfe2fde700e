package chart

import (
	"fmt"
	"strings"

	"github.com/simctl/simctl/reports/figure"
	"github.com/simctl/simctl/reports/wording"
)

func init() {
	register(chart{
		rank: 9, name: "fan-in", title: "Triggers per processed evaluation",
		note:   "the share of processed evaluations that stood for at most as many: themselves and those shed in their favour",
		figure: fanInFigure,
	})
}

// fanInFigure plots how many triggers one processed evaluation stood for.
func fanInFigure(v *view) figure.Figure {
	f := figure.Figure{
		Legend: v.runKeys(), X: figure.Axis{Label: "triggers"}, Y: figure.Axis{Label: "share of processed evaluations", Unit: figure.Shares, Max: 1},
	}
	var p figure.Panel
	var medians []string
	for i, r := range v.runs {
		if !r.FanIn.Distribution.IsZero() {
			line := cumulative(v.labels[i], v.colors[i], r.FanIn.Distribution, r.FanIn.Max, 1)
			line.Summary = "median " + wording.Grouped(r.FanIn.P50)
			p.Lines = append(p.Lines, line)
			medians = append(medians, fmt.Sprintf("%s median %s, greatest %s", v.labels[i], wording.Grouped(r.FanIn.P50), wording.Grouped(r.FanIn.Max)))
		}
	}
	if len(p.Lines) > 0 {
		p.Detail = strings.Join(medians, "; ")
		f.Panels = []figure.Panel{p}
	}
	return fitX(f, 1)
}
