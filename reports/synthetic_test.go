package reports

import (
	"math"
	"testing"
	"time"

	"github.com/simctl/simctl/metrics"
)

// synthetic makes the Result of a run that never took place, shaped like the published
// ones: a backlog of ten evaluations a node, drained one by one or shed, then a storm. The
// figures come out of simple arithmetic, so that tests can say what a chart must show.
type synthetic struct {
	nodes    int
	shedding bool
	seed     int64
	rate     float64 // evaluations a second over all workers
}

var synthStart = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

const (
	synthJobs       = 10
	synthStep       = 0.5 // seconds between samples
	synthRegister   = 25.0
	synthBatch      = 728
	synthTick       = 5.0
	synthStormEvals = 6
)

// synthState is what the gauges show.
type synthState struct {
	pending, ready, unacked, cancelable, waiting float64
	init, nodesReady, nodesDown                  float64
	complete, canceled, failed                   float64
	entries                                      map[string]float64
	counters                                     metrics.Counters
}

func (y synthetic) result(t testing.TB) *metrics.Result {
	t.Helper()
	n := float64(y.nodes)
	rec := metrics.NewRecorder(synthStart)
	st := &synthState{entries: map[string]float64{metrics.EntryJobRegister: synthJobs, metrics.EntryRaftNoop: 1}}
	now := 0.0
	broker := "legacy"
	if y.shedding {
		broker = "shedding"
	}

	begin := func(name string) (startS float64, before map[string]float64) {
		rec.BeginPhase(name, instant(now), st.cumulative())
		before = map[string]float64{}
		for k, v := range st.entries {
			before[k] = v
		}
		return now, before
	}
	end := func(before map[string]float64, e metrics.PhaseEnd) {
		e.RaftEntriesByType = map[string]uint64{}
		for k, v := range st.entries {
			if d := math.Round(v) - math.Round(before[k]); d > 0 {
				e.RaftEntriesByType[k] = uint64(d)
			}
		}
		e.EvalsByStatus = map[string]uint64{"complete": uint64(st.complete), "canceled": uint64(st.canceled),
			"pending": uint64(st.pending + st.ready + st.unacked + st.cancelable)}
		rec.EndPhase(instant(now), st.cumulative(), e)
	}
	step := func() { st.sample(rec, now); now += synthStep }

	_, before := begin("register")
	for now < synthRegister {
		share := math.Min(now/(synthRegister-5), 1)
		st.nodesReady, st.init = math.Floor(n*share), math.Floor(n*math.Min(1.2*share, 1))-math.Floor(n*share)
		st.entries[metrics.EntryNodeRegister] = math.Floor(n * math.Min(1.2*share, 1))
		st.entries[metrics.EntryNodeUpdateStatus] = st.nodesReady
		st.entries[metrics.EntryEvalUpdate] = st.nodesReady
		created := synthJobs * st.nodesReady
		st.ready, st.pending = math.Min(created, synthJobs), math.Max(created-synthJobs, 0)
		st.counters.EvalsCreated = uint64(created)
		step()
	}
	end(before, metrics.PhaseEnd{QueueEmptyS: -1, RecoveryS: -1})

	_, before = begin("drain")
	rec.Mark(instant(now), "schedulers on")
	e := y.drain(rec, st, &now, step, 5)
	end(before, e)

	start, before := begin("storm")
	rec.Mark(instant(start), "all clients stop")
	e = y.storm(rec, st, &now, step)
	end(before, e)

	res, err := rec.Result(metrics.Run{
		Scenario: "heartbeat-storm", Broker: broker, Seed: y.seed, Clock: "virtual", Target: "simulated", Nodes: y.nodes,
		Params: map[string]any{"nodes": y.nodes, "system_jobs": synthJobs, "service_jobs": 0, "servers": 3, "schedulers": 2,
			"fraction": 1, "cost": "published"},
		Version: "v0.0.0-synthetic", GoVersion: "go1.26.8",
		Rerun: "simctl scenario heartbeat-storm --nodes 5000 --seed 1",
		CostModel: &metrics.CostModel{Class: "published", Source: "3 × 2 vCPU, HashiCorp's post on load shedding",
			Costs: []metrics.Cost{{Name: "scheduler, per node", Unit: "s", Value: 2.4e-6}, {Name: "Raft commit", Unit: "s", Value: 0.00053}}},
	}, []metrics.Invariant{
		{Name: "evaluations are conserved", OK: true},
		{Name: "at most one evaluation per job in flight", OK: true},
		{Name: "servers agree", OK: true},
	}, metrics.Host{WallS: 21.5, CPUS: 20.25, PeakRSSBytes: 900 << 20})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// drain works the backlog off: at rate one by one, or in two rounds and cancel writes.
func (y synthetic) drain(rec *metrics.Recorder, st *synthState, now *float64, step func(), calm float64) metrics.PhaseEnd {
	start := *now
	e := metrics.PhaseEnd{QueueEmptyS: -1, RecoveryS: -1}
	st.entries[metrics.EntryApplyPlanResults] += synthJobs
	st.counters.PlansSubmitted += synthJobs
	lastTick := start
	for recovered := math.Inf(1); *now < recovered+calm; step() {
		since := *now - start
		switch {
		case !y.shedding:
			y.process(rec, st, math.Min(y.rate*synthStep, st.pending+st.ready), since)
		case since >= 12 && st.pending > 0:
			y.process(rec, st, st.ready, since)
			st.cancelable, st.pending, st.ready = st.pending-synthJobs, 0, synthJobs
			rec.FanIn(1)
			for range synthJobs {
				rec.FanIn(int(st.cancelable / synthJobs))
			}
		case st.pending == 0:
			y.process(rec, st, st.ready, since)
			if *now-lastTick >= synthTick && st.cancelable > 0 {
				lastTick = *now
				y.cancel(st)
			}
		}
		if empty := st.pending+st.ready == 0; empty && e.QueueEmptyS < 0 {
			e.QueueEmptyS = since
		}
		if st.pending+st.ready+st.cancelable == 0 && math.IsInf(recovered, 1) {
			recovered, e.RecoveryS = *now, since
		}
	}
	return e
}

// storm loses every node over three minutes; each brings ten evaluations.
func (y synthetic) storm(rec *metrics.Recorder, st *synthState, now *float64, step func()) metrics.PhaseEnd {
	const lasts = 180.0
	start, n := *now, float64(y.nodes)
	e := metrics.PhaseEnd{QueueEmptyS: -1, RecoveryS: -1}
	lastTick := start
	for recovered := math.Inf(1); *now < recovered+5; step() {
		since := *now - start
		down := math.Floor(n * math.Min(since/lasts, 1))
		fresh := down - st.nodesDown
		st.nodesDown, st.nodesReady = down, n-down
		st.entries[metrics.EntryNodeUpdateStatus] += fresh
		st.entries[metrics.EntryEvalUpdate] += fresh
		st.counters.EvalsCreated += uint64(fresh * synthStormEvals)
		st.counters.NodesDown += uint64(fresh)
		st.counters.MissedHeartbeats += uint64(fresh)
		st.pending += fresh * synthStormEvals
		done := math.Min(1.9*y.rate*synthStep, st.pending+st.ready)
		y.process(rec, st, done, since)
		st.entries[metrics.EntryApplyPlanResults] += 0.1 * done
		if y.shedding {
			st.cancelable += math.Floor(st.pending * 0.9)
			st.pending -= math.Floor(st.pending * 0.9)
			if *now-lastTick >= synthTick && st.cancelable > 0 {
				lastTick = *now
				y.cancel(st)
			}
		}
		if since >= lasts && st.pending+st.ready == 0 && e.QueueEmptyS < 0 {
			e.QueueEmptyS = since
		}
		if e.QueueEmptyS >= 0 && st.cancelable == 0 && math.IsInf(recovered, 1) {
			recovered, e.RecoveryS = *now, since
		}
	}
	e.AllocsReplacedS = 0.8 * e.QueueEmptyS
	return e
}

func (y synthetic) process(rec *metrics.Recorder, st *synthState, count, since float64) {
	count = math.Round(count)
	fromReady := math.Min(st.ready, count)
	st.ready -= fromReady
	st.pending -= count - fromReady
	if st.ready == 0 && st.pending >= synthJobs {
		st.ready, st.pending = synthJobs, st.pending-synthJobs
	}
	st.complete += count
	st.entries[metrics.EntryEvalUpdate] += count
	for i := range int(count) {
		wait := time.Duration((since + float64(i)*0.01) * float64(time.Second))
		held := time.Duration(40+10*math.Sin(float64(i)+since)) * time.Millisecond
		rec.Observe(metrics.LatencyWait, wait)
		rec.Observe(metrics.LatencyProcess, held)
		rec.Observe(metrics.LatencyResponse, wait+held)
		if !y.shedding {
			rec.FanIn(1)
		}
	}
}

func (y synthetic) cancel(st *synthState) {
	batch := math.Min(st.cancelable, synthBatch)
	st.cancelable -= batch
	st.canceled += batch
	st.entries[metrics.EntryEvalUpdate]++
}

func (st *synthState) cumulative() metrics.Counters {
	c := st.counters
	for _, v := range st.entries {
		c.LastIndex += uint64(math.Round(v))
	}
	c.EvalsProcessed, c.EvalsCanceled = uint64(st.complete), uint64(st.canceled)
	return c
}

func (st *synthState) sample(rec *metrics.Recorder, now float64) {
	st.unacked = math.Min(5, st.pending+st.ready)
	busy := st.unacked / 5
	gauge := func(name, unit string, v float64) { rec.Gauge(name, unit, instant(now), v) }
	gauge(metrics.SeriesPending, "evaluations", st.pending)
	gauge(metrics.SeriesReady, "evaluations", st.ready)
	gauge(metrics.SeriesUnacked, "evaluations", st.unacked)
	gauge(metrics.SeriesWaiting, "evaluations", st.waiting)
	gauge(metrics.SeriesCancelable, "evaluations", st.cancelable)
	gauge(metrics.SeriesCompleted, "evaluations", st.complete)
	gauge(metrics.SeriesCanceled, "evaluations", st.canceled)
	gauge(metrics.SeriesFailed, "evaluations", st.failed)
	gauge(metrics.SeriesNodesInit, "nodes", st.init)
	gauge(metrics.SeriesNodesReady, "nodes", st.nodesReady)
	gauge(metrics.SeriesNodesDown, "nodes", st.nodesDown)
	gauge(metrics.SeriesWorkers, "1", busy)
	gauge(metrics.SeriesCPU, "1", 0.8*busy+0.05*math.Sin(now/7)+0.06)
	gauge(metrics.SeriesRaftIndex, "entries", float64(st.cumulative().LastIndex))
	for kind, v := range st.entries {
		gauge(metrics.SeriesEntriesPrefix+kind, "entries", math.Round(v))
	}
}

func instant(s float64) time.Time { return synthStart.Add(time.Duration(s * float64(time.Second))) }

// published returns a pair of runs of the published size.
func published(t testing.TB) []*metrics.Result {
	return []*metrics.Result{
		synthetic{nodes: 5000, seed: 1, rate: 20.8}.result(t),
		synthetic{nodes: 5000, seed: 1, rate: 20.8, shedding: true}.result(t),
	}
}
