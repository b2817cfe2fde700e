// Package operations is what users and operators ask of a cluster: jobs submitted, changed,
// scaled and stopped, nodes drained, garbage collected, schedulers and the broker turned off
// and on. All but the number of schedulers is a request to the leader.
//
// It must not import other packages of actions.
package operations
