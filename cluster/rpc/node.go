package rpc

import (
	"context"
	"errors"
	"time"
)

// Errors that clients and users tell apart.
var (
	// ErrNodeNotFound means that the servers do not know the node: its client registers again
	// (client/client.go, updateNodeStatus).
	ErrNodeNotFound = errors.New("node not found")
	// ErrNoLeader means that the server knows no leader to forward a call to.
	//lint:ignore ST1005 the text is Nomad's, which clients look for
	ErrNoLeader = errors.New("No cluster leader")
	// ErrNotReady means that a leader is not ready to serve (nomad/structs/errors.go, ErrNotReadyForConsistentReads).
	//lint:ignore ST1005 the text is Nomad's
	ErrNotReady = errors.New("Not ready to serve consistent reads")
	// ErrJobNotFound means that a user named a job that is not registered.
	ErrJobNotFound = errors.New("job not found")
	// ErrPermissionDenied means that a client's identity has expired.
	//lint:ignore ST1005 the text is Nomad's
	ErrPermissionDenied = errors.New("Permission denied")
	// ErrEvalNotFound means that a user named an evaluation that there is not.
	ErrEvalNotFound = errors.New("eval not found")
	// ErrBrokerEnabled means that evaluations are to be deleted which may be on their way.
	ErrBrokerEnabled = errors.New("eval broker is enabled; eval broker must be paused to delete evals")
	// ErrUnreachable means that the server does not answer: it is down or cut off.
	ErrUnreachable = errors.New("server unreachable")
)

// Passes reports whether an error is that nobody leads, is ready to lead, or answers, which the next call may find otherwise.
func Passes(err error) bool {
	return errors.Is(err, ErrNoLeader) || errors.Is(err, ErrNotReady) || errors.Is(err, ErrUnreachable)
}

// NodeServer is what a client needs of a server: RPC methods of nomad/node_endpoint.go. Calls
// block until they are answered or ctx is done, but for GetClientAllocs, and are safe for
// concurrent use.
type NodeServer interface {
	Register(ctx context.Context, req *NodeRegisterRequest) (*NodeUpdateResponse, error)
	UpdateStatus(ctx context.Context, req *NodeUpdateStatusRequest) (*NodeUpdateResponse, error)
	// GetClientAllocs is answered when the node's allocations have changed after MinQueryIndex
	// or MaxQueryTime has passed. A call that must wait for that returns nil and no error,
	// since every client has one that waits for minutes. The server then calls resume, at most
	// once and on any goroutine, with the rest of the call, which is like any other call.
	// Resume must not block; rest need not be called.
	GetClientAllocs(ctx context.Context, req *NodeSpecificRequest, resume func(rest ClientAllocsCall)) (*NodeClientAllocsResponse, error)
	// UpdateAlloc reports client statuses. Servers refuse it for some nodes since 1.4.3
	// (nomad #15068).
	UpdateAlloc(ctx context.Context, req *AllocUpdateRequest) (*WriteResponse, error)
}

// Clients is what a server needs of clients.
type Clients interface {
	// Reach returns the server, counted from 0, that the client of a node is connected to, and
	// whether the client runs. One that does not run does not answer.
	Reach(nodeID string) (server int, runs bool)
}

// ClientAllocsCall is what is left of a call of GetClientAllocs when it can be answered.
type ClientAllocsCall func() (*NodeClientAllocsResponse, error)

// NodeRegisterRequest is Node.Register's argument.
type NodeRegisterRequest struct {
	Node *Node
}

// NodeUpdateStatusRequest is Node.UpdateStatus's argument. It is a heartbeat if the node has
// that Status already.
type NodeUpdateStatusRequest struct {
	NodeID    string
	Status    string
	UpdatedAt int64  // Unix seconds; the server sets it
	NodeEvent string // message of an event to record; empty = none
}

// NodeUpdateResponse answers Register and UpdateStatus.
type NodeUpdateResponse struct {
	// HeartbeatTTL is when the server expects the next heartbeat; it grants a grace on top.
	HeartbeatTTL time.Duration
	// Index is that of the Raft entry; zero if none was written.
	Index uint64
}

// NodeSpecificRequest is Node.GetClientAllocs's argument.
type NodeSpecificRequest struct {
	NodeID        string
	SecretID      string
	MinQueryIndex uint64
	// MaxQueryTime is how long the call may block; zero means five minutes.
	MaxQueryTime time.Duration
}

// NodeClientAllocsResponse answers GetClientAllocs. Nomad's has the allocations' IDs, and
// clients get the rest from Alloc.GetAllocs.
type NodeClientAllocsResponse struct {
	Allocs []*Allocation // of the node, in the order of their IDs
	Index  uint64
}

// AllocUpdateRequest is Node.UpdateAlloc's argument. Servers read only ID, NodeID,
// ClientStatus, ClientDescription and Health of each allocation.
type AllocUpdateRequest struct {
	NodeID string
	// Connection names the connection that a server got the call over; empty if that is only
	// simulated, as cluster.Config.ClientConnections has it.
	Connection string
	Alloc      []*Allocation
}

// WriteResponse answers a call that wrote to Raft at Index.
type WriteResponse struct {
	Index uint64
}
