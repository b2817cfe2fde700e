package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/simctl/simctl/internal/madeby"
	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/metrics/agreement"
	"github.com/simctl/simctl/reports"
	"github.com/simctl/simctl/reports/chart"
	"github.com/simctl/simctl/reports/figure"
	"github.com/simctl/simctl/reports/wording"
	"github.com/simctl/simctl/scenarios"
)

// machines has, for each machine, the directory of its runs on real servers and the heading of their section. The
// machine's costs are in a file beside the runs (madeby.Cost).
var machines = []struct{ dir, heading, suffix string }{
	{"real", "Real servers", ""},
	{"second", "Real servers on a second machine", " · 2nd machine"},
	{"second/asked", "Real servers that were asked every second", " · 2nd machine, asked every second"},
	{"fifth", "Real servers on a fifth machine", " · 5th machine"},
	{"sixth", "Real servers on a sixth machine", " · 6th machine"},
	{"sixth/later", "Real servers on the sixth machine, hours later", " · 6th machine, later"},
	{"sixth/evening", "Real servers on the sixth machine, in the evening", " · 6th machine, evening"},
	{"seventh", "Real servers on a machine of which one number was fitted", " · 7th machine"},
	{"eighth", "Real servers on a machine of which nothing is known but its speed", " · 8th machine"},
	{"ninth", "Real servers on a machine that is now slow and now fast", " · 9th machine"},
}

// group is a run on real servers, with its repeats, and how far simulations of it agree.
type group struct {
	machine int
	name    string // the same for no two of them
	*agreement.Report
}

// id is the stem of the group's picture's name.
func (g group) id() string {
	return strings.NewReplacer(" · ", "-", " ", "-", ",", "").Replace(g.name)
}

// measured reads the runs in a directory of the data. A run of a scenario that the data have in a file is not among
// them: its page says what came out.
func measured(data, dir string) ([]*metrics.Result, error) {
	runs, err := madeby.Results(filepath.Join(data, dir))
	return slices.DeleteFunc(runs, func(r *metrics.Result) bool {
		_, err := os.Stat(filepath.Join(data, r.Run.Scenario+".hcl"))
		return err == nil
	}), err
}

// groups simulates the runs on all machines.
func groups(ctx context.Context, data string) ([]group, error) {
	var all []group
	var specs []scenarios.Spec
	for i, machine := range machines {
		runs, err := measured(data, machine.dir)
		if err != nil {
			return nil, err
		}
		for _, real := range agreement.Repeats(runs) {
			spec, err := scenarios.SpecOf(real[0], scenarios.Spec{Cost: madeby.Cost(filepath.Join(data, machine.dir), real[0].Run.Target)})
			if err != nil {
				return nil, err
			}
			specs = append(specs, repeats(spec)...)
			all = append(all, group{i, name(real[0]) + machine.suffix, &agreement.Report{Real: real}})
		}
	}
	simulated, err := scenarios.RunAll(ctx, specs, nil)
	if err != nil {
		return nil, err
	}
	for i := range all {
		all[i].Report = agreement.Of(all[i].Real, simulated[i*seeds:(i+1)*seeds])
	}
	return all, nil
}

// usual are the parameters that name leaves out, and usualScenario the scenario. Usual clients report nothing.
var usual = map[string]float64{"servers": 3, "schedulers": 2, "system_jobs": 10}

const usualScenario = "heartbeat-storm"

// name says in a few words what was run.
func name(r *metrics.Result) string {
	parts := []string{r.Run.Target, wording.Counted(float64(r.Run.Nodes), "nodes")}
	if r.Run.Scenario != usualScenario {
		parts = append(parts, r.Run.Scenario)
	}
	for _, key := range []string{"servers", "schedulers", "system_jobs"} {
		if n, ok := wording.Number(r.Run.Params[key]); ok && n != usual[key] {
			parts = append(parts, wording.Counted(n, strings.ReplaceAll(key, "_", " ")))
		}
	}
	switch _, shared := r.Run.Params["client_connections"]; {
	case shared:
		parts = append(parts, "shared connections")
	case r.Run.Params["report_allocations"] == true:
		parts = append(parts, "reports")
	}
	return strings.Join(parts, " · ")
}

// real writes what the runs of real servers agree on, and draws it into a directory.
func (p *page) real(all []group, data, dir string) error {
	f := deviations(all)
	if _, err := figure.WriteFiles(dir, []figure.Figure{f}, pictures); err != nil {
		return err
	}
	for i, machine := range machines {
		about, err := text(filepath.Join(data, machine.dir))
		if err != nil {
			return err
		}
		fmt.Fprintf(p, "## %s\n\n%s\n", machine.heading, about)
		if i == 0 {
			fmt.Fprintf(p, "The medians of all runs below, of all machines, beside each other:\n\n![%s](%s.%s)\n\n", f.Title, f.ID, pictures)
		}
		for _, g := range all {
			if g.machine != i {
				continue
			}
			f := chart.Both(g.Real, g.Simulated)
			f.ID = g.id()
			if _, err := figure.WriteFiles(dir, []figure.Figure{f}, pictures); err != nil {
				return err
			}
			fmt.Fprintf(p, "### %s\n\n![%s](%s.%s)\n\n", g.name, f.Title, f.ID, pictures)
			if err := reports.Validation(p, "markdown", []*agreement.Report{g.Report}); err != nil {
				return err
			}
			p.WriteString("\n")
		}
	}
	return nil
}

// pictures is the format of all pictures.
const pictures = "svg"

// text returns what the README.md of a directory says below its title, with its links as they are from this page; nothing
// if there is none.
func text(dir string) ([]byte, error) {
	about, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	_, about, _ = bytes.Cut(about, []byte("\n\n"))
	return bytes.ReplaceAll(about, []byte("](../"), []byte("](../../testdata/validation/")), nil
}

// farthest is where the axis of deviations ends.
const farthest = 0.3

// deviations draws how far the simulation is from each group: its entries in each phase, and how long
// drain and storm take to be over.
func deviations(all []group) figure.Figure {
	f := figure.Figure{
		ID: "deviations", Title: "How far simulated medians are from real ones",
		Subtitle: fmt.Sprintf("%d groups of runs on real servers, %d seeds of each simulated", len(all), seeds),
		Note:     fmt.Sprintf("shades end at 5%% and 10%%; a cross at the edge lies beyond %.0f%%", 100*farthest),
		X:        figure.Axis{Label: "deviation", Unit: figure.Shares, Min: -farthest, Max: farthest},
		Y:        figure.Axis{Min: -0.5, Max: float64(len(all)) - 0.5},
	}
	for _, g := range slices.Backward(all) {
		f.Y.Names = append(f.Y.Names, strings.NewReplacer(" nodes", "", " machine", "").Replace(g.name))
	}
	phases := []figure.Key{{Name: "register", Color: figure.Grey}, {Name: "drain", Color: figure.Vermillion}, {Name: "storm", Color: figure.Blue}, {Name: "dispatch", Color: figure.Green}}
	for _, of := range []struct{ heading, metric string }{{"Raft entries", "raft_entries"}, {"time until recovered", "recovery_s"}} {
		p := figure.Panel{Heading: of.heading, Color: figure.Ink, Bands: []figure.Band{{From: -0.1, To: 0.1}, {From: -0.05, To: 0.05}}}
		for _, key := range phases {
			l := figure.Line{Name: key.Name, Color: key.Color, Dotted: true, Scattered: true}
			for i, g := range all {
				off, y := g.deviation(key.Name, of.metric), float64(len(all)-1-i)
				switch {
				case off == nil:
				case *off < -farthest || *off > farthest:
					p.Crosses = append(p.Crosses, figure.Cross{X: *off, Y: y, Color: key.Color})
				default:
					l.X, l.Y = append(l.X, *off), append(l.Y, y)
				}
			}
			p.Lines = append(p.Lines, l)
		}
		f.Panels = append(f.Panels, p)
	}
	f.Legend = phases
	return f
}

// deviation returns that of a metric of a phase; nil if there is none.
func (g group) deviation(phase, metric string) *float64 {
	for _, p := range g.Phases {
		for _, row := range p.Rows {
			if p.Name == phase && row.Metric == metric {
				return row.Deviation
			}
		}
	}
	return nil
}
