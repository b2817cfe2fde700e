// Package scheduler decides what a job needs: given a snapshot of the state and an
// evaluation it makes the plan that brings the job's allocations to what the job asks
// for, and it verifies such plans against a newer state.
//
// There are four kinds of job and two reconcilers. System and sysbatch jobs want one
// allocation of each task group on every ready node of their datacenters; service and
// batch jobs want a number of allocations, placed where they fit best. Both follow the
// package scheduler of Nomad v1.4.3, file by file as noted.
//
// Nothing here blocks, sleeps, reads a clock or starts a goroutine: a Scheduler is
// stepped by the worker that owns it, which submits the plans and writes the evaluations
// that come out. Random draws come from the worker's source, and nothing depends on the
// order of a map, so that the same snapshot and source give the same plan.
//
// Nomad looks at every node and every allocation of the job each time. Here a Cache
// remembers up to which index a job was found in order, and the next run looks only at
// what changed since; Work still tells what Nomad would have looked at, since that is
// what the simulation charges processor time for.
//
// It imports broker, cluster/rpc and cluster/state, and must not import the cluster that
// drives it.
package scheduler
