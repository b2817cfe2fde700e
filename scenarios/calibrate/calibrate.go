package calibrate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/metrics/agreement"
	"github.com/simctl/simctl/scenarios"
)

// Knob is costs that share a factor.
type Knob struct {
	Name     string
	What     string
	prefixes []string // of their paths in a cost file
}

// Knobs are what is fitted: few, so that the fit says something of runs that it has not seen. Links, cores and garbage
// collection stay as they are, and so do the calls of clients that report, which a run need not have.
var Knobs = []Knob{
	{"scheduling", "schedulers, and verifying plans", []string{"scheduler.", "plan.evaluate", "plan.per_"}},
	{"log", "Raft, its disk, and applying entries", []string{"raft.", "fsync", "fsm."}},
	{"calls", "remote calls", []string{"rpc.serve", "rpc.send", "rpc.verify", "rpc.heartbeat", "rpc.node_eval", "rpc.node_count", "rpc.node_recount", "rpc.node_watch", "rpc.wait_index_scan", "plan.submit"}},
}

// point is a factor for each knob, as steps from 1.
type point [3]int

// A factor of 2 is so many steps, and factors end at most steps.
const (
	octave = 4
	most   = 3 * octave
)

func (p point) factor(knob int) float64 { return math.Exp2(float64(p[knob]) / octave) }

// AtEnd reports whether a factor is one at which the search ends: the costs may differ by more.
func AtEnd(factor float64) bool { return math.Abs(math.Log2(factor)) >= most/octave }

// of returns the factor for a path in a cost file.
func (p point) of(path string) float64 {
	for i, k := range Knobs {
		if slices.ContainsFunc(k.prefixes, func(prefix string) bool { return strings.HasPrefix(path, prefix) }) {
			return p.factor(i)
		}
	}
	return 1
}

// ErrNothing says that there is nothing to fit by.
var ErrNothing = errors.New("nothing to fit by")

// Fit is fitted costs, and how well they do.
type Fit struct {
	Factors     map[string]float64 // by the names of Knobs
	Figures     []Figure
	Simulations int
	// Before, After and Unseen are the typical deviations of Figures: by the costs that the fit
	// began with, by the fitted ones, and by costs fitted to the other runs only. Unseen is NaN if there was one run.
	Before, After, Unseen float64

	costs *scenarios.Cost
	at    point
}

// Figure is a length of time that the fit is by.
type Figure struct {
	Run    int // of those given to Run
	Phase  string
	Metric string
	Real   float64 // in seconds, as all below
	Before float64
	After  float64
	// Unseen is by costs that were fitted without the run; NaN if there was no other.
	Unseen float64
}

// Text returns the cost file.
func (f *Fit) Text(class, source string) []byte {
	c := *f.costs
	c.Class, c.Title, c.Source = class, "fitted to runs on real servers", source
	return c.Text(f.at.of)
}

// Run fits the costs that specs name to real runs: each spec is a simulation of repeats, which have the same
// index. Tell is called with the number of simulations so far. The error wraps ErrNothing if the real
// runs have no phase that lasted long enough for what it did.
func Run(ctx context.Context, specs []scenarios.Spec, repeats [][]*metrics.Result, tell func(simulations int)) (*Fit, error) {
	o, err := scenarios.OutlineOf(specs[0])
	if err != nil {
		return nil, err
	}
	c := &calibration{ctx: ctx, specs: specs, costs: o.Machines(), seen: map[point][]*metrics.Result{}, tell: tell}
	for i, runs := range repeats {
		c.figures = append(c.figures, figures(i, runs)...)
	}
	if len(c.figures) == 0 {
		return nil, fmt.Errorf("%w: no real run has a phase of %d s or more that evaluations alone took: give runs with more nodes", ErrNothing, leastS)
	}
	all := func(Figure) bool { return true }
	fit := &Fit{Factors: map[string]float64{}, costs: c.costs, Unseen: math.NaN()}
	if fit.at, err = c.descend(all); err != nil {
		return nil, err
	}
	for i, k := range Knobs {
		fit.Factors[k.Name] = fit.at.factor(i)
	}
	if fit.Before, err = c.loss(point{}, all); err == nil {
		fit.After, err = c.loss(fit.at, all)
	}
	if err == nil {
		err = c.holdOut(fit)
	}
	fit.Simulations = len(c.seen) * len(specs)
	return fit, err
}

// leastS is the least real length of time that the fit is by, in seconds. Shorter ones are not exact.
const leastS = 3 * agreement.Resolution

// timed are the metrics that the fit is by.
var timed = []string{"recovery_s"}

// figures returns the lengths of time of repeats that work for evaluations alone has made: of phases in
// which they were processed and no node went down, since timers decide when that happens.
func figures(run int, repeats []*metrics.Result) []Figure {
	var out []Figure
	for _, p := range agreement.Of(repeats, repeats).Phases {
		one := repeats[0].Phase(p.Name)
		for _, row := range p.Rows {
			if one.NodesDown == 0 && one.EvalsProcessed > 0 && slices.Contains(timed, row.Metric) && row.Real.Low >= leastS {
				out = append(out, Figure{Run: run, Phase: p.Name, Metric: row.Metric, Real: row.Real.Median, Unseen: math.NaN()})
			}
		}
	}
	return out
}

// calibration is a fit under way.
type calibration struct {
	ctx     context.Context
	specs   []scenarios.Spec
	costs   *scenarios.Cost
	figures []Figure
	seen    map[point][]*metrics.Result // what was simulated, by factors
	tell    func(int)
}

// simulate returns a run of each spec with those factors.
func (c *calibration) simulate(p point) ([]*metrics.Result, error) {
	if runs, ok := c.seen[p]; ok {
		return runs, nil
	}
	const file = "./fitted.hcl"
	costs := *c.costs
	costs.Source = "a fit under way"
	specs := slices.Clone(c.specs)
	for i := range specs {
		specs[i].Cost = file
		specs[i].CostFiles = maps.Clone(specs[i].CostFiles)
		if specs[i].CostFiles == nil {
			specs[i].CostFiles = map[string]string{}
		}
		specs[i].CostFiles[file] = string(costs.Text(p.of))
	}
	runs, err := scenarios.RunAll(c.ctx, specs, nil)
	if err != nil {
		return nil, err
	}
	c.seen[p] = runs
	c.tell(len(c.seen) * len(specs))
	return runs, nil
}

// never stands for a time that did not come: as bad as a factor of a hundred.
const never = 100

// deviation is how far a simulated time is from the real one, as the logarithm of their ratio.
func deviation(f Figure, simulated float64) float64 {
	if simulated <= 0 {
		return math.Log(never)
	}
	return math.Log(simulated / f.Real)
}

func (f Figure) in(runs []*metrics.Result) float64 {
	p := runs[f.Run].Phase(f.Phase)
	m, _ := metrics.PhaseMetric(f.Metric)
	if p == nil {
		return -1
	}
	return m.Value(p)
}

// loss is the typical deviation of the figures that count, as a share.
func (c *calibration) loss(p point, counts func(Figure) bool) (float64, error) {
	runs, err := c.simulate(p)
	if err != nil {
		return 0, err
	}
	var off []float64
	for _, f := range c.figures {
		if counts(f) {
			off = append(off, deviation(f, f.in(runs)))
		}
	}
	return typical(off), nil
}

// typical returns the root of the mean square of deviations, as a share.
func typical(off []float64) float64 {
	sum := 0.0
	for _, d := range off {
		sum += d * d
	}
	return math.Expm1(math.Sqrt(sum / float64(len(off))))
}

// descend searches knob by knob for the factors with the least loss, in steps that get smaller.
func (c *calibration) descend(counts func(Figure) bool) (best point, err error) {
	least, err := c.loss(best, counts)
	for step := octave; step > 0; step /= 2 {
		for better := true; better && err == nil; {
			better = false
			for knob := range best {
				for _, by := range []int{step, -step} {
					next := best
					if next[knob] += by; next[knob] < -most || next[knob] > most {
						continue
					}
					loss := 0.0
					if loss, err = c.loss(next, counts); err != nil {
						return best, err
					}
					if loss < least {
						best, least, better = next, loss, true
					}
				}
			}
		}
	}
	return best, err
}

// holdOut fills in the figures, and what costs say of each run that were fitted to the others.
func (c *calibration) holdOut(fit *Fit) error {
	before, err := c.simulate(point{})
	if err != nil {
		return err
	}
	after, err := c.simulate(fit.at)
	if err != nil {
		return err
	}
	var off []float64
	for _, f := range c.figures {
		f.Before, f.After = f.in(before), f.in(after)
		others := func(o Figure) bool { return o.Run != f.Run }
		if slices.ContainsFunc(c.figures, others) {
			at, err := c.descend(others)
			if err != nil {
				return err
			}
			unseen, err := c.simulate(at)
			if err != nil {
				return err
			}
			f.Unseen = f.in(unseen)
			off = append(off, deviation(f, f.Unseen))
		}
		fit.Figures = append(fit.Figures, f)
	}
	if len(off) > 0 {
		fit.Unseen = typical(off)
	}
	return nil
}
