// Package apitypes turns rows of the cluster's state into the types of Nomad's HTTP API, and
// job definitions of its users into jobs of the cluster.
//
// A job keeps the definition that its user sent. What the cluster knows nothing of, such as
// constraints and networks, is shown again and does not count; ToJob returns a warning for
// each such thing that would change what is placed where.
//
// It must not import servers: it is a function of what it is given.
package apitypes
