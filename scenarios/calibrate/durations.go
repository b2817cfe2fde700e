package calibrate

import (
	"math"
	"slices"
	"strings"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/metrics/agreement"
	"github.com/simctl/simctl/scenarios"
)

// byDurations fits a few factors on groups of costs, by how long phases took.
type byDurations struct{ from *scenarios.Cost }

// knob is costs that share a factor.
type knob struct {
	name     string
	what     string
	prefixes []string // of their paths in a cost file
}

// knobs are what is fitted: few, so that the fit says something of runs that it has not seen. Links, cores and garbage
// collection stay as they are, and so do the calls of clients that report, which a run need not have.
var knobs = []knob{
	{"scheduling", "schedulers, and verifying plans", []string{"scheduler.", "plan.evaluate", "plan.per_"}},
	{"log", "Raft, its disk, and applying entries", []string{"raft.", "fsync", "fsm."}},
	{"calls", "remote calls", []string{"rpc.serve", "rpc.send", "rpc.verify", "rpc.heartbeat", "rpc.node_eval", "rpc.node_count", "rpc.node_recount", "rpc.node_watch", "rpc.wait_index_scan", "plan.submit"}},
}

// scaled are costs times a factor for each knob, as steps from 1.
type scaled struct {
	from *scenarios.Cost
	at   [3]int
}

// A factor of 2 is so many steps, and factors end at most steps.
const (
	octave = 4
	most   = 3 * octave
)

func (s scaled) factor(knob int) float64 { return math.Exp2(float64(s.at[knob]) / octave) }

// of returns the factor for a path in a cost file.
func (s scaled) of(path string) float64 {
	for i, k := range knobs {
		if slices.ContainsFunc(k.prefixes, func(prefix string) bool { return strings.HasPrefix(path, prefix) }) {
			return s.factor(i)
		}
	}
	return 1
}

func (s scaled) factors() (all []Factor) {
	for i, k := range knobs {
		all = append(all, Factor{k.name, k.what, s.factor(i), s.at[i] == most || s.at[i] == -most})
	}
	return all
}

func (s scaled) text(_, class, source string) []byte {
	c := *s.from
	c.Class, c.Title, c.Source = class, title, source
	return c.Text(s.of)
}

func (m byDurations) start() costs { return scaled{from: m.from} }

// timed is the metric that the fit is by.
const timed = "recovery_s"

// figures returns the lengths of time of repeats that work for evaluations alone has made: of phases in
// which they were processed and no node went down, since timers decide when that happens.
func (m byDurations) figures(run int, repeats []*metrics.Result) []Figure {
	metric, _ := metrics.PhaseMetric(timed)
	var out []Figure
	for _, p := range agreement.Of(repeats, repeats).Phases {
		one := repeats[0].Phase(p.Name)
		for _, row := range p.Rows {
			if one.NodesDown == 0 && one.EvalsProcessed > 0 && row.Metric == timed && row.Real.Low >= leastS {
				out = append(out, Figure{Run: run, Phase: p.Name, What: metric.Title, Real: row.Real.Median, Unseen: math.NaN()})
			}
		}
	}
	return out
}

func (m byDurations) value(f Figure, r *metrics.Result) float64 {
	if p := r.Phase(f.Phase); p != nil {
		return p.RecoveryS
	}
	return -1
}

// search goes knob by knob for the factors with the least loss, in steps that get smaller.
func (m byDurations) search(c *calibration, counts func(Figure) bool) (costs, error) {
	best := scaled{from: m.from}
	least, err := c.loss(best, counts)
	for step := octave; step > 0; step /= 2 {
		for better := true; better && err == nil; {
			better = false
			for knob := range best.at {
				for _, by := range []int{step, -step} {
					next := best
					if next.at[knob] += by; next.at[knob] < -most || next.at[knob] > most {
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
