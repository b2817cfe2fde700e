package rpc

import (
	"context"
	"errors"
	"time"
)

// Errors a client can branch on. Over a real wire they arrive as text; nodesim's
// transport maps the text back.
var (
	// ErrNodeNotFound makes a client register again (client/client.go, updateNodeStatus).
	ErrNodeNotFound = errors.New("node not found")
	// ErrNoLeader means that the server knows no leader to forward to.
	//lint:ignore ST1005 the text is Nomad's, which clients look for
	ErrNoLeader = errors.New("No cluster leader")
	// ErrJobNotFound refuses what a user wants done to a job that is not registered.
	ErrJobNotFound = errors.New("job not found")
	// ErrUnreachable means that the server did not answer: it is down or cut off.
	ErrUnreachable = errors.New("server unreachable")
)

// NodeServer is everything a client needs of the servers: Nomad's Node.* and Alloc.*
// RPC methods (nomad/node_endpoint.go). Every call blocks until it is answered, and
// is safe to make from many goroutines.
type NodeServer interface {
	Register(ctx context.Context, req *NodeRegisterRequest) (*NodeUpdateResponse, error)
	UpdateStatus(ctx context.Context, req *NodeUpdateStatusRequest) (*NodeUpdateResponse, error)
	// GetClientAllocs blocks until the node's allocations changed after MinQueryIndex
	// or MaxQueryTime passed.
	GetClientAllocs(ctx context.Context, req *NodeSpecificRequest) (*NodeClientAllocsResponse, error)
	// UpdateAlloc reports client statuses. It is refused for nodes that are not ready
	// when the broker profile is 1.4.3 or later (nomad #15068).
	UpdateAlloc(ctx context.Context, req *AllocUpdateRequest) (*WriteResponse, error)
}

// NodeRegisterRequest is Node.Register's argument.
type NodeRegisterRequest struct {
	Node *Node
}

// NodeUpdateStatusRequest is Node.UpdateStatus's argument: a heartbeat when Status is
// what the servers hold already, a status change otherwise.
type NodeUpdateStatusRequest struct {
	NodeID    string
	Status    string
	UpdatedAt int64  // Unix seconds, set by the server
	NodeEvent string // message of the event to record, if any
}

// NodeUpdateResponse answers Register and UpdateStatus.
type NodeUpdateResponse struct {
	// HeartbeatTTL is how long the server waits, before grace, for the next heartbeat.
	HeartbeatTTL    time.Duration
	EvalIDs         []string
	EvalCreateIndex uint64
	NodeModifyIndex uint64
	// Index is non-zero only when something was written to Raft.
	Index uint64
}

// NodeSpecificRequest is Node.GetClientAllocs's argument.
type NodeSpecificRequest struct {
	NodeID        string
	SecretID      string
	MinQueryIndex uint64
	// MaxQueryTime bounds how long the call blocks; zero means five minutes.
	MaxQueryTime time.Duration
}

// NodeClientAllocsResponse maps the node's allocation IDs to their AllocModifyIndex.
// Allocs carries the allocations themselves, in place of Nomad's second call
// (Alloc.GetAllocs), in the order of their IDs.
type NodeClientAllocsResponse struct {
	Allocs []*Allocation
	Index  uint64
}

// AllocUpdateRequest is Node.UpdateAlloc's argument. Of each allocation only ID,
// NodeID, ClientStatus and ClientDescription are read.
type AllocUpdateRequest struct {
	NodeID string
	Alloc  []*Allocation
}

// WriteResponse answers a call that wrote to Raft at Index.
type WriteResponse struct {
	Index uint64
}
