// Package soak makes random schedules of faults, users and operators from seeds, as scenario
// files, runs them under several brokers, and looks for the fewest events that fail. Actions draw
// their own events; this package draws the cluster and puts the schedule together.
//
// It runs Specs. It must not import the cluster, nor what runs scenarios.
package soak
