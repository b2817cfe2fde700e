// Package soak makes random schedules of faults, users and operators from seeds, as scenario files,
// runs them under several brokers, and looks for the fewest events that fail. What an event can be
// is for the actions to say; this package draws the cluster and puts the schedule together.
//
// It runs Specs and must not import the cluster, nor what runs scenarios below that.
package soak
