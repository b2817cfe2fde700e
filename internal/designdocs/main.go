// Command designdocs writes what was found out about designs into docs/designs: a table of all
// brokers, from their Results, and charts of some. make designs runs the scenarios, and then
// this.
//
// It must not import the cluster or its parts.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/simctl/simctl/internal/madeby"
	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/scenarios/designs"
)

func main() {
	err := errors.New("usage: designdocs DIRECTORY RESULTS...; each directory of Results is of one number of nodes, and has one of each scenario")
	if len(os.Args) >= 3 {
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

func write(dir string, from []string) error {
	var tables bytes.Buffer
	for i, results := range from {
		c, err := load(results)
		if err != nil {
			return err
		}
		if tables.Len() > 0 {
			tables.WriteByte('\n')
		}
		table(&tables, c)
		if i > 0 {
			continue // the charts are of the first
		}
		if err := draw(dir, c); err != nil {
			return err
		}
	}
	return madeby.Put(filepath.Join(dir, "README.md"), "designs", tables.Bytes())
}

// load reads the Results below a directory, and holds them to being of the same brokers.
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
	for scenario, runs := range c {
		for broker := range c[storm] {
			if len(runs) > 0 && runs[broker] == nil { // a scenario may be too large to have been run
				return nil, fmt.Errorf("%s has no Result of %s in %s: run make designs", dir, broker, scenario)
			}
		}
	}
	if len(c[storm]) == 0 {
		return nil, fmt.Errorf("%s has no Results: run make designs", filepath.Join(dir, storm))
	}
	return c, nil
}

// draw draws the trade-off of all brokers in the storm, and the log of each design that replaces
// the broker beside those of legacy and shedding.
func draw(dir string, c compared) error {
	var all []*metrics.Result
	for _, broker := range c.brokers() {
		if !strings.Contains(broker, "+") || strings.Count(broker, "+") == 1 && c.tells(broker) {
			all = append(all, c[storm][broker])
		}
	}
	if err := madeby.Chart(dir, "pareto", "pareto", all); err != nil {
		return err
	}
	for _, d := range designs.All() {
		if r := c[storm][d.Word]; d.Alone && r != nil {
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
