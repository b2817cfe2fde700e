// Command designdocs writes what was found out about designs into docs/designs: a table of all
// brokers, from their Results, and charts of some. make designs runs the scenarios, and then
// this. make pipelines does so with pipelines of several depths.
//
// It must not import the cluster or its parts.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/simctl/simctl/internal/madeby"
	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/scenarios/designs"
)

func main() {
	err := errors.New("usage: designdocs DIRECTORY RESULTS..., each of one number of nodes, or designdocs pipelines DIRECTORY RESULTS")
	switch {
	case len(os.Args) == 4 && os.Args[1] == "pipelines":
		err = writePipelines(os.Args[2], os.Args[3])
	case len(os.Args) >= 3:
		err = write(os.Args[1], os.Args[2:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "designdocs:", err)
		os.Exit(1)
	}
}

// The scenarios that brokers are compared in.
const (
	storm    = "heartbeat-storm"
	flapping = "flapping"
	failover = "failover-mid-drain"
)

// compared are the runs of one number of nodes, by scenario and then by broker.
type compared map[string]map[string]*metrics.Result

// target is the make target that pages name.
const target = "designs"

func write(dir string, from []string) error {
	page := filepath.Join(dir, "README.md")
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	tables := readTables(string(text))
	for _, results := range from {
		c, err := load(results)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(tables, func(t *table) bool { return t.settings == settings(c) })
		if at < 0 {
			at, tables = len(tables), append(tables, &table{settings(c), map[string][]string{}})
		}
		if tables[at].update(c); at > 0 {
			continue // the charts are of the first table
		}
		if err := draw(dir, c, tables[at].brokers()); err != nil {
			return err
		}
	}
	var all bytes.Buffer
	for i, t := range tables {
		if i > 0 {
			all.WriteByte('\n')
		}
		t.write(&all, t.brokers())
	}
	if err := madeby.Put(page, target, all.Bytes()); err != nil {
		return err
	}
	for _, d := range designs.All() {
		if err := madeby.Put(filepath.Join(dir, d.Word+".md"), target, []byte(about(d, tables))); err != nil {
			return err
		}
	}
	return nil
}

// about is the part of a design's own page that its words and the runs make.
func about(d designs.Design, tables []*table) string {
	var b strings.Builder
	fmt.Fprintf(&b, "- **What it does.** %s.\n- **Nomad.** %s.\n- **What it costs.** %s.\n\n", capital(d.Summary), capital(d.Source), capital(d.Cost))
	fmt.Fprintf(&b, "```sh\nsimctl scenario heartbeat-storm --nodes 1000 --broker legacy,shedding,%s\n```\n\n", d.Broker())
	for _, t := range tables {
		if t.rows[short(d.Broker())] != nil {
			t.write(&b, []string{"legacy", "shedding", short(d.Broker())})
			b.WriteByte('\n')
		}
	}
	fmt.Fprintf(&b, "The columns are those of [all designs](README.md#side-by-side).\n\n![Growth of the Raft log under legacy, shedding and %s](%s.png)\n", d.Broker(), d.Word)
	return b.String()
}

func capital(s string) string {
	if first, _, _ := strings.Cut(s, " "); strings.Contains(first, "/") { // the name of a file
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// all returns the runs.
func (c compared) all() (runs []*metrics.Result) {
	for _, scenario := range []string{storm, flapping, failover} {
		for _, broker := range slices.Sorted(maps.Keys(c[scenario])) {
			runs = append(runs, c[scenario][broker])
		}
	}
	return runs
}

// load reads the Results below a directory.
func load(dir string) (compared, error) {
	c := compared{}
	for _, scenario := range []string{storm, flapping, failover} {
		runs, err := madeby.Results(filepath.Join(dir, scenario))
		if err != nil {
			return nil, err
		}
		c[scenario] = map[string]*metrics.Result{}
		for _, r := range runs {
			c[scenario][r.Run.Broker] = r
		}
	}
	if len(c.all()) == 0 {
		return nil, fmt.Errorf("%s has no Results: run make designs", dir)
	}
	return c, nil
}

// draw draws the trade-off of all brokers of a table in the storm, if all have been run, and the log of
// each design that has been beside those of legacy and shedding.
func draw(dir string, c compared, brokers []string) error {
	for _, broker := range []string{"legacy", "shedding"} {
		if c[storm][broker] == nil {
			return fmt.Errorf("there is no Result of %s in %s to draw beside others: run make designs", broker, storm)
		}
	}
	if !slices.ContainsFunc(brokers, func(name string) bool { return c[storm][long(name)] == nil }) {
		var all []*metrics.Result
		for _, broker := range slices.Sorted(maps.Keys(c[storm])) {
			if !strings.Contains(broker, "+") || strings.Count(broker, "+") == 1 && c.tells(broker) {
				all = append(all, c[storm][broker])
			}
		}
		if err := madeby.Chart(dir, "pareto", "pareto", all); err != nil {
			return err
		}
	}
	for _, d := range designs.All() {
		if r := c[storm][d.Broker()]; r != nil {
			if err := madeby.Chart(dir, d.Word, "raft", []*metrics.Result{c[storm]["legacy"], c[storm]["shedding"], r}); err != nil {
				return err
			}
		}
	}
	return nil
}

// tells reports whether a design made a difference of a twentieth to the storm.
func (c compared) tells(broker string) bool {
	entries := func(b string) float64 { return float64(c[storm][b].Phase("storm").RaftEntries) }
	return entries(broker) < 0.95*entries("shedding") || entries(broker) > 1.05*entries("shedding")
}
