// Package metrics holds what a run produced: the Recorder collects it while the run goes on,
// and the versioned Result file keeps it for everything after the run. The package also
// compares Results and holds them against thresholds.
//
// It imports the standard library, a histogram and an atomic-write library only. It must not
// import clusters, brokers or scenarios, so that reports can be made wherever a Result file
// is.
//
// # Recording a run
//
// The runner owns the clock and the phases; the Recorder owns the arithmetic. Counters are
// cumulative over the run, and a phase gets the difference between its two ends:
//
//	rec := metrics.NewRecorder(start)
//	rec.BeginPhase("drain", time.Now(), counters())
//	rec.Mark(time.Now(), "schedulers enabled")
//	for !recovered() { // every 100 ms of virtual time, say
//		rec.Gauge(metrics.SeriesPending, "evaluations", time.Now(), float64(stats.Pending))
//		rec.Gauge(metrics.SeriesEntriesPrefix+metrics.EntryEvalUpdate, "entries", time.Now(), n)
//	}
//	rec.EndPhase(time.Now(), counters(), metrics.PhaseEnd{QueueEmptyS: …, RecoveryS: …})
//	result, err := rec.Result(run, invariants, host)
//
// Meanwhile any goroutine may call Observe (a duration, into a histogram) and FanIn (the
// triggers one evaluation stood for). Peaks and the time of the last cancel write come from
// the samples of SeriesPending, SeriesCancelable and SeriesCanceled, so sample those often
// and at the ends of each phase. However long a run is, a series stays at a few thousand
// points and keeps its highest and lowest.
//
// # Sweeps
//
// A Sweep is many Results that differ in a few parameters. Cell.Passes says whether its runs
// meet limits, Cell.Spread how a figure spreads over seeds. A Vocabulary reads limits and
// checks paths of figures before anything has run.
//
// # Result files
//
// WriteFile is atomic. Load refuses files that are truncated, foreign or of a future schema.
// Digest names what happened, whatever the machine. Compare, Check and Lookup take loaded and
// fresh Results alike.
package metrics
