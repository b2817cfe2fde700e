// Package scheduler decides what a job needs. Given a snapshot of the state and an
// evaluation it makes the plan that brings the job's allocations to what the job asks
// for. It also verifies plans against a newer state.
//
// There are two reconcilers. System and sysbatch jobs want one allocation of each task
// group on every ready node of their datacenters. Service and batch jobs want a number of
// allocations, placed where they fit best. Both follow package scheduler of Nomad v1.4.3;
// comments name the file.
//
// Nothing here blocks, sleeps, reads a clock or starts a goroutine. The worker that owns a
// Scheduler submits its plans and writes its evaluations. Random draws come from the
// worker's source and nothing depends on the order of a map, so that the same snapshot and
// source give the same plan.
//
// Nomad looks at every node and at every allocation of the job each time. Here a Cache
// remembers at which index a job was as wanted, and the next run looks only at what has
// changed since. Work nevertheless counts what Nomad would have looked at, since the
// simulation charges processor time for that.
//
// The package imports broker, cluster/rpc, cluster/state and internal/uuid, and must not
// import the cluster that drives it.
package scheduler
