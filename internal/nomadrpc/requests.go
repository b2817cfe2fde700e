package nomadrpc

import "time"

// The structs below are those of nomad/structs, with the fields that are used here. Codecs
// know fields by their names.

// QueryOptions are in every request that reads.
type QueryOptions struct {
	Region        string
	Namespace     string
	MinQueryIndex uint64
	MaxQueryTime  time.Duration
	AllowStale    bool
	AuthToken     string
}

// QueryMeta is in every answer to a read.
type QueryMeta struct {
	Index       uint64
	LastContact time.Duration
	KnownLeader bool
}

// WriteRequest is in every request that writes.
type WriteRequest struct {
	Region    string
	Namespace string
	AuthToken string
}

// WriteMeta is in every answer to a write.
type WriteMeta struct {
	Index uint64
}

// GenericRequest is the argument of Status.Ping, Status.Leader and Status.Peers, whose
// answers are an empty struct, a string and strings.
type GenericRequest struct {
	QueryOptions
}

// NodeRegisterRequest is the argument of Node.Register.
type NodeRegisterRequest struct {
	Node *Node
	WriteRequest
}

// NodeUpdateStatusRequest is the argument of Node.UpdateStatus. It is a heartbeat if the node
// has that Status already.
type NodeUpdateStatusRequest struct {
	NodeID               string
	Status               string
	NodeEvent            *NodeEvent
	UpdatedAt            int64
	IdentitySigningKeyID string // since 1.11
	ForceIdentityRenewal bool   // since 1.11
	WriteRequest
}

// NodeUpdateResponse answers Node.Register, Node.UpdateStatus, Node.UpdateDrain and
// Node.UpdateEligibility.
type NodeUpdateResponse struct {
	HeartbeatTTL          time.Duration
	EvalIDs               []string
	EvalCreateIndex       uint64
	NodeModifyIndex       uint64
	Features              uint64
	LeaderRPCAddr         string
	NumNodes              int32
	Servers               []*NodeServerInfo
	SchedulingEligibility string
	// SignedIdentity is the token of later calls, if there is one (since 1.11).
	SignedIdentity *string
	QueryMeta
}

// NodeServerInfo is a server that clients may call.
type NodeServerInfo struct {
	RPCAdvertiseAddr string
	RPCMajorVersion  int32
	RPCMinorVersion  int32
	Datacenter       string
}

// NodeSpecificRequest is the argument of Node.GetClientAllocs and Node.GetNode.
type NodeSpecificRequest struct {
	NodeID   string
	SecretID string
	QueryOptions
}

// NodeClientAllocsResponse answers Node.GetClientAllocs.
type NodeClientAllocsResponse struct {
	Allocs        map[string]uint64 // their AllocModifyIndex, by ID
	MigrateTokens map[string]string
	QueryMeta
}

// SingleNodeResponse answers Node.GetNode.
type SingleNodeResponse struct {
	Node *Node
	QueryMeta
}

// AllocsGetRequest is the argument of Alloc.GetAllocs.
type AllocsGetRequest struct {
	AllocIDs []string
	QueryOptions
}

// AllocsGetResponse answers Alloc.GetAllocs.
type AllocsGetResponse struct {
	Allocs []*Allocation
	QueryMeta
}

// AllocSpecificRequest is the argument of Alloc.GetAlloc.
type AllocSpecificRequest struct {
	AllocID string
	QueryOptions
}

// AllocUpdateRequest is the argument of Node.UpdateAlloc.
type AllocUpdateRequest struct {
	Alloc []*Allocation
	WriteRequest
}

// EmitNodeEventsRequest is the argument of Node.EmitEvents.
type EmitNodeEventsRequest struct {
	NodeEvents map[string][]*NodeEvent // by the node's ID
	WriteRequest
}

// GenericResponse answers Node.UpdateAlloc. EmitNodeEventsResponse has the same field.
type GenericResponse struct {
	WriteMeta
}

// EvalDequeueRequest is the argument of Eval.Dequeue. SchedulerVersion is 1 in all releases so far.
type EvalDequeueRequest struct {
	Schedulers       []string
	SchedulerVersion uint16
	Timeout          time.Duration
	WriteRequest
}

// EvalDequeueResponse answers Eval.Dequeue. Eval is nil if none came up in time.
type EvalDequeueResponse struct {
	Eval      *Evaluation
	Token     string
	WaitIndex uint64
	QueryMeta
}

// EvalAckRequest is the argument of Eval.Ack and Eval.Nack.
type EvalAckRequest struct {
	EvalID, Token string
	WriteRequest
}

// PlanRequest is the argument of Plan.Submit.
type PlanRequest struct {
	Plan *Plan
	WriteRequest
}

// PlanResponse answers Plan.Submit.
type PlanResponse struct {
	Result *PlanResult
	WriteMeta
}
