package main

import (
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/simctl/simctl/internal/madeby"
	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports/figure"
	"github.com/simctl/simctl/reports/wording"
	"github.com/simctl/simctl/scenarios/designs"
)

// atDepth is what came of one number of plans on their way to the log.
type atDepth struct {
	depth int
	// rate is how many evaluations were complete in a second at the end of the ramp, and nacked
	// how many waited to come again, at most.
	rate, nacked float64
}

// full is the end of the ramp, in seconds, in which more is submitted than the servers can place.
const full = 5

// writePipelines writes what Results of submit-ramp say of pipelines of several depths, mended and not,
// into their page, and a chart beside it.
func writePipelines(dir, from string) error {
	runs, err := madeby.Results(from)
	if err != nil {
		return err
	}
	var mended, released []atDepth
	for _, r := range runs {
		depth, nacks := depthOf(r.Run.Broker)
		ramp, done, waiting := r.Phase("ramp"), r.SeriesByName(metrics.SeriesCompleted), r.SeriesByName(metrics.SeriesWaiting)
		if depth == 0 || ramp == nil || done == nil || waiting == nil {
			return fmt.Errorf("%s in %s is no pipeline in a ramp: run make pipelines", r.Run.Broker, from)
		}
		d := atDepth{depth, (done.At(ramp.EndS) - done.At(ramp.EndS-full)) / full, slices.Max(waiting.Value)}
		if nacks {
			released = append(released, d)
		} else {
			mended = append(mended, d)
		}
	}
	byDepth := func(a, b atDepth) int { return cmp.Compare(a.depth, b.depth) }
	slices.SortFunc(mended, byDepth)
	slices.SortFunc(released, byDepth)
	if len(mended) == 0 || !slices.EqualFunc(mended, released, func(a, b atDepth) bool { return a.depth == b.depth }) {
		return fmt.Errorf("%s lacks a pipeline with or without nack-unseen: run make pipelines", from)
	}
	if _, err := figure.WriteFiles(dir, []figure.Figure{pipelineChart(wording.Subtitle(runs), mended, released)}, "png"); err != nil {
		return err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s.\n\n", wording.Subtitle(runs))
	b.WriteString("| plans on their way, at most | complete in a second | before #28452 | nacked and waiting, at most | before #28452 |\n|---:|---:|---:|---:|---:|\n")
	for i, m := range mended {
		fmt.Fprintf(&b, "| %d | %.0f | %.0f | %.0f | %.0f |\n", m.depth, m.rate, released[i].rate, m.nacked, released[i].nacked)
	}
	b.WriteString("\n![Evaluations complete in a second, and those that wait after a nack, by the depth of the pipeline](pipeline-depth.png)\n")
	return madeby.Put(filepath.Join(dir, "pipeline.md"), "pipelines", b.Bytes())
}

// depthOf returns the depth of a broker's pipeline, 0 if it has none, and whether it nacks what it
// has not seen.
func depthOf(broker string) (depth int, nacks bool) {
	_, found := designs.Split(broker)
	for _, d := range found {
		if n, ok := strings.CutPrefix(d.Word, "pipeline-"); ok {
			depth, _ = strconv.Atoi(n)
		}
		nacks = nacks || d.Word == "nack-unseen"
	}
	return depth, nacks
}

// pipelineChart plots a panel for each figure, and in it a line before and one after the mend.
func pipelineChart(subtitle string, mended, released []atDepth) figure.Figure {
	f := figure.Figure{
		ID: "pipeline-depth", Title: "What plans on their way to the log buy, and what they cost", Subtitle: subtitle,
		Note:   fmt.Sprintf("left: in the last %d s of the ramp, in which more is submitted than is placed; where one line shows, the other is below it", full),
		X:      figure.Axis{Label: "plans on their way to the log, at most", Min: float64(mended[0].depth), Max: float64(mended[len(mended)-1].depth), Log: true},
		Y:      figure.Axis{Label: "evaluations"},
		Legend: []figure.Key{{Name: "before #28452 (nack-unseen)", Color: figure.Vermillion}, {Name: "as mended by #28452", Color: figure.Blue}},
	}
	for _, d := range mended {
		f.X.Marked = append(f.X.Marked, float64(d.depth))
	}
	for _, panel := range []struct {
		heading string
		value   func(atDepth) float64
	}{
		{"complete in a second", func(d atDepth) float64 { return d.rate }},
		{"nacked and waiting, at most", func(d atDepth) float64 { return d.nacked }},
	} {
		p := figure.Panel{Heading: panel.heading, Color: figure.Ink}
		for i, of := range [][]atDepth{released, mended} {
			line := figure.Line{Name: f.Legend[i].Name, Color: f.Legend[i].Color, X: f.X.Marked, Dotted: true}
			for _, d := range of {
				line.Y = append(line.Y, panel.value(d))
			}
			p.Lines = append(p.Lines, line)
		}
		f.Panels = append(f.Panels, p)
	}
	f.Y.Max = figure.Positive(1.1 * f.Top())
	return f
}
