package sweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/scenarios"
	"github.com/simctl/simctl/scenarios/forecast"
)

// Executor is where runs go. Its methods may be called by many goroutines.
type Executor interface {
	// Run runs a Spec to its Result. Key and attempt, which counts from 1, name the attempt:
	// an executor that finds it under way waits for that. It calls tell with the progress,
	// if it knows any. An error that wraps ErrGiveUp ends the whole sweep; after any other
	// error the run may be tried again.
	Run(ctx context.Context, spec scenarios.Spec, key string, attempt int, tell func(scenarios.Progress)) (*metrics.Result, error)
	// Side is how many runs it takes at a time.
	Side() int
	// Build names the program that runs. The sweep takes no Results of another one from the
	// journal. It is empty if the executor cannot know the build.
	Build() string
}

// ErrGiveUp is wrapped by an Executor's error that every other run would meet, too.
var ErrGiveUp = errors.New("no run can go on")

// LimitError is the error of a run that reached a limit. It is not tried again, and its cell is
// missing.
type LimitError struct{ Limit string }

func (e *LimitError) Error() string { return "stopped by " + e.Limit }

// attempts is how often a run is tried.
const attempts = 2

// Watcher follows a sweep. Its methods are called from many goroutines and must be quick.
type Watcher interface {
	// Expect says which runs are planned, how many there can be at most, and which of the
	// planned ones the journal has.
	Expect(planned []Run, most int, kept []metrics.SweepRun)
	Started(r Run, label string)
	Progress(r Run, p scenarios.Progress)
	// Retried says that the run failed and is tried once more.
	Retried(r Run, label string, why error)
	Ended(r Run, label string, out metrics.SweepRun)
}

// Do runs the study and returns its outcome: the runs in the order of the plan, failed ones
// included. It does not repeat runs that the journal has. If ctx ends, Do returns ctx's error,
// and the journal keeps what has finished. Cells that a limit kept from running are missing in
// the outcome.
func (st *Study) Do(ctx context.Context, ex Executor, j *Journal, w Watcher) (*metrics.Sweep, error) {
	planned, most, err := st.Plan()
	if err != nil {
		return nil, err
	}
	e := &execution{study: st, executor: ex, journal: j, watcher: w, side: make(chan struct{}, ex.Side()), limits: map[string]error{}}
	e.expect(planned, most)
	limited := ctx
	if st.MaxTime > 0 {
		var stop context.CancelFunc
		limited, stop = context.WithTimeoutCause(ctx, st.MaxTime, &LimitError{fmt.Sprintf("--max-time %v", st.MaxTime)})
		defer stop()
	}
	var knees []metrics.Knee
	if st.Design.Kind == Knee {
		knees, err = st.knees(limited, e.runCell)
	} else {
		_, err = e.runAll(limited, st.ordered(planned))
	}
	if _, reached := errors.AsType[*LimitError](err); err != nil && (!reached || ctx.Err() != nil) {
		return nil, err
	}
	return e.sweep(planned, knees, err), nil
}

// ordered returns the runs in the order in which they start: the longest first, so that none runs
// alone in the end; but if the time is limited the shortest, so that most of them end.
func (st *Study) ordered(runs []Run) []Run {
	costs := map[string]float64{}
	for _, r := range runs {
		costs[r.Key()] = forecast.Of(r.Spec).CPUS
	}
	return slices.SortedStableFunc(slices.Values(runs), func(p, q Run) int {
		if st.MaxTime > 0 {
			p, q = q, p
		}
		return cmp.Compare(costs[q.Key()], costs[p.Key()])
	})
}

// execution is a study that is being run.
type execution struct {
	study    *Study
	executor Executor
	journal  *Journal
	watcher  Watcher
	side     chan struct{} // holds a token for every run under way

	mu    sync.Mutex
	kept  map[string]metrics.SweepRun // of an earlier sweep, by key
	ended []metrics.SweepRun
	// limits are those that runs reached, by key.
	limits map[string]error
}

// expect finds the runs that the journal has. A knee finds them when it gets there.
func (e *execution) expect(planned []Run, most int) {
	e.kept = map[string]metrics.SweepRun{}
	var kept []metrics.SweepRun
	for _, r := range planned {
		if out, ok := e.journal.Find(r, e.executor.Build()); ok {
			e.kept[r.Key()] = out
			kept = append(kept, out)
		}
	}
	e.watcher.Expect(planned, most, kept)
}

// runAll runs some runs side by side, as many as the executor takes, and returns how they ended.
// The error is one that ends the sweep, or ctx's.
func (e *execution) runAll(ctx context.Context, runs []Run) ([]metrics.SweepRun, error) {
	outcomes := make([]metrics.SweepRun, len(runs))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(cap(e.side)) // starts them in order, which side alone would not
	for i, r := range runs {
		group.Go(func() error {
			out, err := e.runOne(ctx, r)
			outcomes[i] = out
			return err
		})
	}
	err := group.Wait()
	return outcomes, err
}

// runOne returns how a run ended, which the journal may know.
func (e *execution) runOne(ctx context.Context, r Run) (metrics.SweepRun, error) {
	label := e.study.Label(r)
	out, known := e.known(r)
	if !known {
		select {
		case e.side <- struct{}{}:
			defer func() { <-e.side }()
		case <-ctx.Done():
			return out, context.Cause(ctx)
		}
		if ctx.Err() != nil { // both were ready
			return out, context.Cause(ctx)
		}
		e.watcher.Started(r, label)
		tried, res, err := e.attempt(ctx, r, label)
		if ctx.Err() != nil {
			return out, context.Cause(ctx)
		}
		if errors.Is(err, ErrGiveUp) {
			return out, err
		}
		if _, reached := errors.AsType[*LimitError](err); reached {
			e.mu.Lock()
			e.limits[r.Key()] = err
			e.mu.Unlock()
			e.watcher.Ended(r, label, metrics.SweepRun{Error: err.Error()})
			return out, nil
		}
		if out, err = e.journal.Record(r, label, e.executor.Build(), tried, res, err); err != nil {
			return out, err
		}
		e.watcher.Ended(r, label, out)
	}
	e.mu.Lock()
	e.ended = append(e.ended, out)
	e.mu.Unlock()
	return out, nil
}

// runCell is runAll for the runs of one cell. It returns the limit that one of them reached.
func (e *execution) runCell(ctx context.Context, runs []Run) ([]metrics.SweepRun, error) {
	done, err := e.runAll(ctx, runs)
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range runs {
		if reached := e.limits[r.Key()]; err == nil && reached != nil {
			return nil, reached
		}
	}
	return done, err
}

func (e *execution) known(r Run) (metrics.SweepRun, bool) {
	if out, ok := e.kept[r.Key()]; ok {
		return out, true
	}
	if e.study.Design.Kind != Knee {
		return metrics.SweepRun{}, false
	}
	return e.journal.Find(r, e.executor.Build())
}

// attempt tries a run, and once more if it fails.
func (e *execution) attempt(ctx context.Context, r Run, label string) (tried int, res *metrics.Result, err error) {
	for tried = 1; ; tried++ {
		res, err = e.executor.Run(ctx, r.Spec, r.Key(), tried, func(p scenarios.Progress) { e.watcher.Progress(r, p) })
		if err == nil && res == nil {
			err = fmt.Errorf("the run of %s ended without a result", label)
		}
		_, limited := errors.AsType[*LimitError](err)
		if err == nil || ctx.Err() != nil || tried == attempts || limited || errors.Is(err, ErrGiveUp) {
			return tried, res, err
		}
		e.watcher.Retried(r, label, err)
	}
}

// cellKey names a cell under one broker.
func cellKey(point []string, broker string) string {
	return broker + "\x00" + strings.Join(point, "\x00")
}

// complete returns the runs that ended of cells that ended with every seed, and the keys of these
// cells.
func (e *execution) complete() (runs []metrics.SweepRun, whole map[string]bool) {
	ended := map[string]int{}
	whole = map[string]bool{}
	for _, r := range e.ended {
		key := cellKey(r.Point, r.Broker)
		ended[key]++
		whole[key] = ended[key] == len(e.study.Seeds)
	}
	for _, r := range e.ended {
		if whole[cellKey(r.Point, r.Broker)] {
			runs = append(runs, r)
		}
	}
	return runs, whole
}

// missing returns the cells of the plan that are not among those that have ended, each with the
// limit that one of its runs reached, or else with that of the sweep.
func (e *execution) missing(planned []Run, whole map[string]bool, limit error) []metrics.MissingCell {
	var cells []metrics.MissingCell
	at := map[string]int{}
	for _, r := range planned {
		key := cellKey(r.Point, r.Spec.Broker)
		if whole[key] {
			continue
		}
		i, ok := at[key]
		if !ok {
			i = len(cells)
			at[key] = i
			cells = append(cells, metrics.MissingCell{Point: r.Point, Broker: r.Spec.Broker})
		}
		if reached, ok := errors.AsType[*LimitError](cmp.Or(e.limits[r.Key()], limit)); ok && (cells[i].Limit == "" || e.limits[r.Key()] != nil) {
			cells[i].Limit = reached.Limit
		}
	}
	return cells
}

// sweep returns the outcome, in the order of the axes' values. Limit is the one that the sweep
// reached, or nil.
func (e *execution) sweep(planned []Run, knees []metrics.Knee, limit error) *metrics.Sweep {
	st := e.study
	runs, whole := e.complete()
	s := &metrics.Sweep{
		Schema: metrics.Schema, Scenario: st.Base.Scenario, Design: string(cmp.Or(st.Design.Kind, Grid)), Brokers: st.Brokers, Seeds: st.Seeds,
		Limits: st.Limits, Runs: runs, Knees: knees, Missing: e.missing(planned, whole, limit),
	}
	if st.Design.Kind == OneAtATime {
		s.Base = st.base()
	}
	for i, a := range st.Axes {
		ran := Axis{Name: a.Name, Kind: a.Kind}
		for _, r := range s.Runs {
			ran.Values = append(ran.Values, r.Point[i])
		}
		if !a.numeric() {
			ran.Values = a.Values // in the order they were given in
		}
		ran.sort()
		s.Axes = append(s.Axes, metrics.Axis{Name: a.Name, Values: ran.Values, Numeric: a.numeric(), Unit: a.unit(), Load: a.load()})
	}
	slices.SortStableFunc(s.Runs, func(p, q metrics.SweepRun) int { return compareRuns(s, p, q) })
	return s
}

func compareRuns(s *metrics.Sweep, p, q metrics.SweepRun) int {
	for i, a := range s.Axes {
		if c := cmp.Compare(slices.Index(a.Values, p.Point[i]), slices.Index(a.Values, q.Point[i])); c != 0 {
			return c
		}
	}
	return cmp.Or(cmp.Compare(slices.Index(s.Brokers, p.Broker), slices.Index(s.Brokers, q.Broker)), cmp.Compare(p.Seed, q.Seed))
}

// load reports whether more of the axis is more work for the servers. Every number is, except
// for settings of the servers.
func (a Axis) load() bool { return a.numeric() && !slices.Contains(serverSettings, a.Name) }

// serverSettings names the variables that set up servers.
var serverSettings = []string{
	"servers", "schedulers", "max_heartbeats_per_second", "min_heartbeat_ttl_s", "heartbeat_grace_s", "reaper_interval_s", "reaper_batch",
}
