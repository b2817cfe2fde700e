// Package metrics holds what a run produced: the Recorder that collects it while the
// run goes on, and the versioned Result file that everything after the run is made
// from. It also compares results and checks thresholds against them.
//
// It imports the standard library only (and a histogram library): it knows nothing of
// clusters or brokers, so that a report can be made wherever a Result file is.
package metrics
