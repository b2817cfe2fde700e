// Command planlessdocs simulates the designs of package planless, and writes what came of them
// into a page: a table, and a chart beside it.
package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/simctl/simctl/cluster/planless"
	"github.com/simctl/simctl/internal/madeby"
	"github.com/simctl/simctl/reports/figure"
	"github.com/simctl/simctl/reports/wording"
)

func main() {
	err := errors.New("usage: planlessdocs PAGE NODES, with one number of nodes or more")
	if len(os.Args) >= 3 {
		err = write(os.Args[1], os.Args[2:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "planlessdocs:", err)
		os.Exit(1)
	}
}

// run is what came of one design.
type run struct {
	name string
	*planless.Outcome
}

func write(page string, sizes []string) error {
	var tables bytes.Buffer
	for i, size := range sizes {
		nodes, err := strconv.Atoi(size)
		if err != nil || nodes < 1 {
			return fmt.Errorf("%q is no number of nodes: it must be a whole number of at least 1", size)
		}
		var runs []run
		for _, d := range planless.Designs {
			out, err := planless.Run(planless.Default(nodes), d.New)
			if err != nil {
				return fmt.Errorf("%s: %w", d.Name, err)
			}
			runs = append(runs, run{d.Name, out})
		}
		if i > 0 {
			tables.WriteByte('\n')
		}
		table(&tables, nodes, runs)
		if i == 0 {
			if _, err := figure.WriteFiles(filepath.Dir(page), []figure.Figure{chart(nodes, runs)}, "png"); err != nil {
				return err
			}
		}
	}
	return madeby.Put(page, "planless", tables.Bytes())
}

func table(w io.Writer, nodes int, runs []run) {
	p := planless.Default(nodes)
	fmt.Fprintf(w, "%s nodes in %d racks · %s allocations, which ask for %.0f%% of the room · %d schedulers · seed %d.\n\n",
		grouped(nodes), p.Racks, grouped(runs[0].Allocs), 100*p.Fill, p.Schedulers, p.Seed)
	fmt.Fprint(w, "| | writes to a log | to nodes' disks | messages | conflicts | to place: p50 | p99 | longest | lost at the exit | p50 | longest | without a place |\n")
	fmt.Fprint(w, "|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, r := range runs {
		fmt.Fprintf(w, "| `%s` | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", r.name,
			grouped(r.LogWrites), grouped(r.LocalWrites), grouped(r.Messages), grouped(r.Conflicts),
			duration(r.WaitP50), duration(r.WaitP99), duration(r.WaitMax), grouped(r.ExitLost), duration(r.ExitP50), duration(r.ExitMax), grouped(r.Emptied.Waiting))
	}
	fmt.Fprint(w, "\n| | nodes in use: filled | flapped | after the exit | room for large ones: filled | flapped | after the exit | beside one of its job | in one rack |\n")
	fmt.Fprint(w, "|---|---|---|---|---|---|---|---|---|\n")
	for _, r := range runs {
		fmt.Fprintf(w, "| `%s` | %s | %s | %s | %s | %s | %s | %s | %s |\n", r.name,
			percent(r.Filled.InUse), percent(r.Flapped.InUse), percent(r.Emptied.InUse), percent(r.Filled.Largest), percent(r.Flapped.Largest), percent(r.Emptied.Largest),
			percent(r.Flapped.Together), percent(r.Flapped.Rack))
	}
}

func grouped(n int) string            { return wording.Grouped(float64(n)) }
func duration(d time.Duration) string { return wording.Duration(d.Seconds()) }
func percent(share float64) string    { return fmt.Sprintf("%.0f%%", 100*share) }

// chart plots a panel for each design: the allocations that wait for a place while the last of the racks leave.
func chart(nodes int, runs []run) figure.Figure {
	p := planless.Default(nodes)
	f := figure.Figure{
		ID: "planless", Title: "Allocations without a place, when a quarter of the racks leave",
		Subtitle: fmt.Sprintf("%s nodes · seed %d", grouped(nodes), p.Seed),
		Note:     "samples each second; nodes are noticed over some time, as heartbeats stop",
		X:        figure.Axis{Label: "time since the racks left (mm:ss)", Unit: figure.Instants, Max: chartFor.Seconds()},
		Y:        figure.Axis{Label: "allocations", Unit: figure.Count, Max: 1},
	}
	begin := planless.Exit(p)
	var names []string
	for _, r := range runs {
		names = append(names, r.name)
	}
	colors := figure.RunColors(names)
	for i, r := range runs {
		line := figure.Line{Name: r.name, Color: colors[i]}
		for _, s := range r.Series {
			if at := s.At - begin; at >= 0 && at <= chartFor {
				line.X, line.Y = append(line.X, at.Seconds()), append(line.Y, float64(s.Waiting))
				f.Y.Max = math.Max(f.Y.Max, float64(s.Waiting))
			}
		}
		most := slices.MaxFunc(r.Series, func(a, b planless.Point) int { return cmp.Compare(after(a, begin), after(b, begin)) })
		f.Panels = append(f.Panels, figure.Panel{Heading: r.name, Detail: "peak " + grouped(after(most, begin)), Color: line.Color, Lines: []figure.Line{line}})
	}
	return f
}

// chartFor is what the chart shows of the time after the exit.
const chartFor = 2 * time.Minute

// after returns how many wait at a point after an instant.
func after(p planless.Point, begin time.Duration) int {
	if p.At < begin {
		return 0
	}
	return p.Waiting
}
