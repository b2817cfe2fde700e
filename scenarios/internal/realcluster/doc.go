// Package realcluster is a cluster of real Nomad servers as a run sees it: users' and operators'
// calls go to the HTTP API, figures come from the servers' metrics and from the API, and clients
// reach the servers over Nomad's own protocol.
//
//	cluster.go   connecting, and which server leads
//	operate.go   what users and operators ask
//	delete.go    evaluations and garbage that they have deleted
//	look.go      the figures of a moment
//	evals.go     evaluations by status, which releases tell in different ways
//	metrics.go   what the servers count
//	jobs.go      jobs as real servers take them
//	stay.go      a run in a cluster that was there before, and the clean-up
//	others.go    whose jobs and nodes are there
//	memo.go      what the clean-up must know, kept in a file
//
// It must not import what runs scenarios, nor start servers.
package realcluster
