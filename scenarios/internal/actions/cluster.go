package actions

import (
	"context"
	"errors"

	"github.com/simctl/simctl/cluster/rpc"
)

// Cluster is what actions ask of a cluster, simulated or real.
type Cluster interface {
	// Servers is their number; the methods below count them from 0.
	Servers() int
	Running(server int) bool
	Leader() int // -1 if there is none
	StartServer(server int) error
	StopServer(server int) error // as a crash does
	// SetSchedulers sets num_schedulers on every server.
	SetSchedulers(perServer int) error

	RegisterJob(ctx context.Context, job *rpc.Job) (evalID string, err error)
	StopJob(ctx context.Context, namespace, id string, purge bool) (evalID string, err error)
	ScaleJob(ctx context.Context, namespace, id, group string, count int) (evalID string, err error)
	PauseEvalBroker(ctx context.Context, paused bool) error
	// EvalIDs lists evaluations of a status, and of a trigger unless that is empty; at most count unless that is zero.
	EvalIDs(ctx context.Context, status, triggeredBy string, count int) ([]string, error)
	// DeleteEvals deletes the evaluations with these IDs or, if ids is nil, those that EvalIDs would list.
	DeleteEvals(ctx context.Context, status, triggeredBy string, count int, ids []string) error
	// CollectGarbage makes the servers delete everything that is over, however new. It returns before that is done.
	CollectGarbage(ctx context.Context) error
	// NodeIDs returns the IDs of all nodes in ascending order.
	NodeIDs() []string
	DrainNode(ctx context.Context, nodeID string, drain *rpc.DrainStrategy, markEligible bool) error
	SetEligibility(ctx context.Context, nodeID string, eligible bool) error
}

// Target is what kind of cluster a run goes on in, as far as actions depend on it.
type Target struct {
	Name string // for errors: a running cluster
	// Ours says that this program has started the servers.
	Ours bool
	// Foreign says that there may be jobs and nodes of others.
	Foreign bool
	// DeletesByFilter says that servers delete the evaluations that a filter describes.
	DeletesByFilter bool
	// MaxSchedulers is the most scheduler workers that a server can have; zero is no limit.
	MaxSchedulers int
}

// Real is an Action that a real cluster can be told. An Action that is not is for simulated
// clusters only.
type Real interface {
	// On returns why the target cannot be told; nil if it can.
	On(t Target) error
}

// Anywhere is part of an Action that every cluster can be told.
type Anywhere struct{}

// On returns nil.
func (Anywhere) On(Target) error { return nil }

// On returns why a real cluster cannot be told the action; nil if it can.
func On(a Action, t Target) error {
	if r, ok := a.(Real); ok {
		return r.On(t)
	}
	return errors.New("no real cluster can be told that: it is for simulated ones only")
}
