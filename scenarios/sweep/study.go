package sweep

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/scenarios"
	"github.com/simctl/simctl/scenarios/internal/english"
)

// Study is the question that a sweep answers.
type Study struct {
	Base    scenarios.Spec // of every run, less what is varied, broker and seed
	Axes    []Axis
	Brokers []string // the older design first
	Seeds   []int64
	Limits  []metrics.Threshold
	Design  Design
	// MaxTime is how long the sweep may take; zero is no limit. It is no part of what is asked.
	MaxTime time.Duration `json:"-"`
}

// Run is one cell under one broker with one seed.
type Run struct {
	Point []string // the value of each axis
	Spec  scenarios.Spec

	key string // Key, which reads the scenario's file
}

// Parse adds axes to the study. An axis named broker replaces its brokers. parseAxis says what
// a text looks like.
func (st *Study) Parse(texts []string) error {
	variables, err := st.Base.Variables()
	if err != nil {
		return err
	}
	for _, text := range texts {
		name, list, _ := strings.Cut(text, "=")
		switch name = strings.TrimSpace(name); name {
		case "broker":
			st.Brokers = nil
			for b := range strings.SplitSeq(list, ",") {
				st.Brokers = append(st.Brokers, strings.TrimSpace(b))
			}
			continue
		case "seed":
			return errors.New("axis seed: seeds are repetitions and no axis: say how many with --seeds")
		}
		a, err := parseAxis(text, variables)
		if unknown, ok := errors.AsType[*UnknownError](err); ok && !strings.Contains(name, ":") {
			unknown.Known = append(unknown.Known, "broker")
		}
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(st.Axes, func(o Axis) bool { return o.Name == a.Name }); i < 0 {
			st.Axes = append(st.Axes, a)
		} else if !st.Axes[i].merge(a) {
			return fmt.Errorf("axis %s stands twice: give all its values at once, such as %s=1,2,3", a.Name, a.Name)
		}
	}
	if len(texts) > 0 && len(st.Axes) == 0 {
		return errors.New("axis broker: every cell compares the brokers: vary something else, too, such as nodes=1000,5000; simctl scenario run compares them once")
	}
	return nil
}

// mostRuns bounds the runs of one sweep: at a second each they take more than a day.
const mostRuns = 100_000

// Plan returns the runs of the study, and the most there can be. For a knee these are the runs
// at the low end of its axis. The error says what keeps one of them from running.
func (st *Study) Plan() (runs []Run, most int, err error) {
	if len(st.Axes) == 0 {
		return nil, 0, errors.New("nothing varies: name at least one axis, such as --vary nodes=1000,5000")
	}
	for i, b := range st.Brokers {
		if slices.Contains(st.Brokers[:i], b) {
			return nil, 0, fmt.Errorf("broker %s stands twice", b)
		}
	}
	if err := st.checkOnly(); err != nil {
		return nil, 0, err
	}
	points, perPoint, err := st.Design.points(st)
	if err != nil {
		return nil, 0, err
	}
	each := len(st.Brokers) * len(st.Seeds)
	if n := len(points) * perPoint * each; n > mostRuns {
		return nil, 0, fmt.Errorf("%s under %s with %s are %d runs, and more than %d are refused: take fewer values, or a sample of them",
			english.Plural(len(points), "cell"), english.Plural(len(st.Brokers), "broker"), english.Plural(len(st.Seeds), "seed"), n, mostRuns)
	}
	for _, p := range points {
		cell, err := st.runsAt(p, st.brokersAt(p))
		if err != nil {
			return nil, 0, err
		}
		for _, r := range cell {
			if len(runs) > 0 {
				shareFiles(&r.Spec, runs[len(runs)-1].Spec)
			}
			runs = append(runs, r)
		}
	}
	return runs, len(runs) * perPoint, nil
}

// checkOnly checks the values that belong to one broker against the study's brokers and its
// design.
func (st *Study) checkOnly() error {
	for _, a := range st.Axes {
		if a.Only == nil {
			continue
		}
		if k := st.Design.Kind; k == Sample || k == Knee {
			return fmt.Errorf("axis %s has values for one broker alone: a %s has the same ones for all; run a grid or one axis at a time", a.Name, k)
		}
		for _, v := range a.Values {
			for _, b := range a.Only[v] {
				if !slices.Contains(st.Brokers, b) {
					return &UnknownError{What: "broker of the axis " + a.Name, Name: b, Known: st.Brokers}
				}
			}
		}
	}
	return nil
}

// brokersAt returns the brokers that run at a point: those to which all of its values belong. If axes are varied
// one at a time, the base's values belong to all brokers.
func (st *Study) brokersAt(point []string) []string {
	if !slices.ContainsFunc(st.Axes, func(a Axis) bool { return a.Only != nil }) {
		return st.Brokers
	}
	var base []string
	if st.Design.Kind == OneAtATime {
		base = st.base()
	}
	var brokers []string
	for _, b := range st.Brokers {
		runs := true
		for i, a := range st.Axes {
			runs = runs && (base != nil && point[i] == base[i] || a.isFor(point[i], b))
		}
		if runs {
			brokers = append(brokers, b)
		}
	}
	return brokers
}

// runsAt returns the runs of a point under some brokers.
func (st *Study) runsAt(point []string, brokers []string) ([]Run, error) {
	if len(brokers) == 0 {
		return nil, nil
	}
	var runs []Run
	spec := st.Base
	for i, a := range st.Axes {
		a.set(&spec, point[i])
	}
	spec.Broker = brokers[0]
	cell, err := scenarios.Compile(spec)
	if err != nil {
		return nil, fmt.Errorf("cell %s: %w", st.describe(point), err)
	}
	for _, b := range brokers {
		cell, err = cell.Under(b)
		if err != nil {
			return nil, fmt.Errorf("cell %s: %w", st.describe(point), err)
		}
		whole := cell.Spec()
		for _, seed := range st.Seeds {
			whole.Seed = seed // which makes no Spec invalid
			// The costs of a built-in class may change under its name.
			runs = append(runs, Run{point, whole, hash([]any{whole, cell.Machines()})})
		}
	}
	return runs, nil
}

// shareFiles lets a Spec share the texts of files with another one that has the same.
func shareFiles(spec *scenarios.Spec, other scenarios.Spec) {
	if maps.Equal(spec.Files, other.Files) {
		spec.Files = other.Files
	}
	if maps.Equal(spec.CostFiles, other.CostFiles) {
		spec.CostFiles = other.CostFiles
	}
}

// describe names a point: nodes=1000 system_jobs=10.
func (st *Study) describe(point []string) string {
	var parts []string
	for i, a := range st.Axes {
		parts = append(parts, a.Name+"="+point[i])
	}
	return strings.Join(parts, " ")
}

// Label names a run: its cell, its broker and, if there are several, its seed.
func (st *Study) Label(r Run) string {
	label := st.describe(r.Point) + " " + r.Spec.Broker
	if len(st.Seeds) > 1 {
		label += fmt.Sprintf(" seed=%d", r.Spec.Seed)
	}
	return label
}

// ID returns a short hash of the runs that the study asks for. Limits are no part of it unless
// they decide what runs, as for a knee.
func (st *Study) ID() string {
	asked := *st
	if st.Design.Kind != Knee {
		asked.Limits = nil
	}
	return hash(asked)[:8]
}

// Key returns a hash of everything but the program that a run's Result follows from.
func (r Run) Key() string { return r.key }

func hash(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("sweep: hash of what is no JSON: %v", err)) // all of it is plain data
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
