package calibrate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/metrics/agreement"
	"github.com/simctl/simctl/scenarios"
)

var (
	// ErrNothing says that there is nothing to fit by.
	ErrNothing = errors.New("nothing to fit by")
	// ErrMixed says that the runs are of more than one class of costs.
	ErrMixed = errors.New("the releases have costs of their own")
)

// Fit is fitted costs, and how well they do.
type Fit struct {
	Factors     []Factor
	Figures     []Figure
	Simulations int
	// Before, After and Unseen are the typical deviations of Figures: by the costs that the fit
	// began with, by the fitted ones, and by costs fitted to the other runs only. Unseen is NaN if there was one run.
	Before, After, Unseen float64

	at costs
}

// Factor is what was fitted.
type Factor struct {
	Name, What string
	// Factor is how many times as long as before costs take or, of a speed, how many times as fast processors are.
	Factor float64
	// AtEnd says that the search went no further: the costs may differ by more.
	AtEnd bool
}

// Figure is a length of time that the fit is by.
type Figure struct {
	Run    int // of those given to Run
	Phase  string
	What   string
	Real   float64 // in seconds, as all below
	Before float64
	After  float64
	// Unseen is by costs that were fitted without the run; NaN if there was no other.
	Unseen float64

	weight float64 // of those that a fit is by together
}

// costs are those that a fit tries: a value for each choice, which can be compared.
type costs interface {
	factors() []Factor
	// text returns a cost file that is to lie at that path.
	text(path, class, source string) []byte
}

// method is a way to fit.
type method interface {
	start() costs
	// figures returns what repeats, the run'th, tell.
	figures(run int, repeats []*metrics.Result) []Figure
	// value returns a figure of a simulation; negative: it did not come.
	value(f Figure, r *metrics.Result) float64
	// search returns the best costs by those figures that count.
	search(c *calibration, counts func(Figure) bool) (costs, error)
}

// title is that of fitted costs.
const title = "fitted to runs on real servers"

// Text returns the cost file, which is to lie at that path.
func (f *Fit) Text(path, class, source string) []byte { return f.at.text(path, class, source) }

// leastS is the least real length of time that a fit is by, in seconds. Shorter ones are not exact.
const leastS = 3 * agreement.Resolution

// Run fits the costs that specs name to real runs: each spec is a simulation of repeats, which have the same
// index. Tell is called with the number of simulations so far. The error wraps ErrNothing if the real
// runs have no phase that lasted long enough for what it did, and ErrMixed if specs name more than one class of costs.
func Run(ctx context.Context, specs []scenarios.Spec, repeats [][]*metrics.Result, tell func(simulations int)) (*Fit, error) {
	for _, s := range specs {
		if s.Cost != specs[0].Cost {
			return nil, fmt.Errorf("%w, %s and %s: fit one at a time, or name the costs by --cost", ErrMixed, specs[0].Cost, s.Cost)
		}
	}
	o, err := scenarios.OutlineOf(specs[0])
	if err != nil {
		return nil, err
	}
	from := o.Machines()
	c := &calibration{ctx: ctx, specs: specs, method: bySpeed{specs[0].Cost}, seen: map[costs][]*metrics.Result{}, tell: tell}
	if c.figures = figures(c.method, repeats); len(c.figures) == 0 || !from.Costs.Pooled {
		c.method = byDurations{from}
		c.figures = figures(c.method, repeats)
	}
	if len(c.figures) == 0 {
		return nil, fmt.Errorf("%w: no real run has a phase of %d s or more that evaluations alone took: give runs with more nodes", ErrNothing, leastS)
	}
	all := func(Figure) bool { return true }
	fit := &Fit{Unseen: math.NaN()}
	if fit.at, err = c.method.search(c, all); err != nil {
		return nil, err
	}
	fit.Factors = fit.at.factors()
	if fit.Before, err = c.loss(c.method.start(), all); err == nil {
		fit.After, err = c.loss(fit.at, all)
	}
	if err == nil {
		err = c.holdOut(fit)
	}
	fit.Simulations = len(c.seen) * len(specs)
	return fit, err
}

// figures returns what all real runs tell.
func figures(m method, repeats [][]*metrics.Result) (all []Figure) {
	for i, runs := range repeats {
		all = append(all, m.figures(i, runs)...)
	}
	return all
}

// calibration is a fit under way.
type calibration struct {
	ctx     context.Context
	specs   []scenarios.Spec
	method  method
	figures []Figure
	seen    map[costs][]*metrics.Result // what was simulated
	tell    func(int)
}

// simulate returns a run of each spec with those costs.
func (c *calibration) simulate(at costs) ([]*metrics.Result, error) {
	if runs, ok := c.seen[at]; ok {
		return runs, nil
	}
	const file = "./fitted.hcl"
	text := string(at.text(file, "fitted", "a fit under way"))
	specs := slices.Clone(c.specs)
	for i := range specs {
		specs[i].Cost = file
		specs[i].CostFiles = maps.Clone(specs[i].CostFiles)
		if specs[i].CostFiles == nil {
			specs[i].CostFiles = map[string]string{}
		}
		specs[i].CostFiles[file] = text
	}
	runs, err := scenarios.RunAll(c.ctx, specs, nil)
	if err != nil {
		return nil, err
	}
	c.seen[at] = runs
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

// deviations returns those of the figures that count, and these.
func (c *calibration) deviations(at costs, counts func(Figure) bool) (off []float64, of []Figure, err error) {
	runs, err := c.simulate(at)
	if err != nil {
		return nil, nil, err
	}
	for _, f := range c.figures {
		if counts(f) {
			off, of = append(off, deviation(f, c.method.value(f, runs[f.Run]))), append(of, f)
		}
	}
	return off, of, nil
}

// loss is the typical deviation of the figures that count, as a share.
func (c *calibration) loss(at costs, counts func(Figure) bool) (float64, error) {
	off, _, err := c.deviations(at, counts)
	if err != nil {
		return 0, err
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

// holdOut fills in the figures, and what costs say of each run that were fitted to the others.
func (c *calibration) holdOut(fit *Fit) error {
	before, err := c.simulate(c.method.start())
	if err != nil {
		return err
	}
	after, err := c.simulate(fit.at)
	if err != nil {
		return err
	}
	var off []float64
	for _, f := range c.figures {
		f.Before, f.After = c.method.value(f, before[f.Run]), c.method.value(f, after[f.Run])
		others := func(o Figure) bool { return o.Run != f.Run }
		if slices.ContainsFunc(c.figures, others) {
			at, err := c.method.search(c, others)
			if err != nil {
				return err
			}
			unseen, err := c.simulate(at)
			if err != nil {
				return err
			}
			f.Unseen = c.method.value(f, unseen[f.Run])
			off = append(off, deviation(f, f.Unseen))
		}
		fit.Figures = append(fit.Figures, f)
	}
	if len(off) > 0 {
		fit.Unseen = typical(off)
	}
	return nil
}
