// Package httpapi speaks Nomad's HTTP API for a cluster, to the nomad command line and to
// programs that use the module nomad/api.
//
// An API is an http.Handler. Paths, query parameters, headers and errors are those of Nomad
// 1.4 (command/agent/http.go), and bodies have the types of nomad/api. One API stands for the
// agents of all servers: it answers stale reads from the first server that runs, and other
// reads from the leader, and what users write goes where users' calls go.
//
// A read answers at an index of the state. With ?index= it waits until what it reads has
// changed after that index, without a goroutine beyond the request's own.
//
// What the cluster does not have (ACLs, volumes, variables, services) is refused by
// name; nothing is accepted and ignored. Bodies and their arrival are bounded, so that a
// client can take no more than a connection from the others.
//
// The package must not import what drives a cluster: fleet, scenarios, commands.
package httpapi
