// Package nomad runs the cells of a sweep on a Nomad cluster.
//
//	Job        the parameterized batch job that cells are dispatched to, printed once for
//	           people to register
//	Executor   dispatches a cell, follows its job and collects the Result
//	ServeCell  what the dispatched task runs
//
// It decides nothing about a sweep: package sweep says what to run and when to try again. It
// must not import reports or the commands, nor start clusters or fleets itself.
package nomad
