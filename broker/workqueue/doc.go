// Package workqueue is a queue of jobs to look at, in place of one of evaluations: level-triggered,
// as those of Kubernetes' controllers are (client-go, util/workqueue). A [Queue] wraps a
// broker.EvalBroker and answers the same calls, so that workers and their service need not know
// which of the two they have. Like the broker it has no goroutines, no locks and no clock.
//
// The package imports broker, and must not import the cluster.
package workqueue
