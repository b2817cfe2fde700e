package cluster

import (
	"fmt"

	"github.com/hashicorp/go-msgpack/v2/codec"
	"github.com/hashicorp/raft"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
)

// messageType is the first byte of every command in the Raft log and says what the
// rest is. The names are those of nomad/structs/structs.go (MessageType).
type messageType uint8

const (
	nodeRegisterRequestType messageType = iota + 1
	nodeDeregisterRequestType
	nodeUpdateStatusRequestType
	nodeUpdateDrainRequestType
	nodeUpdateEligibilityRequestType
	upsertNodeEventsType
	jobRegisterRequestType
	jobDeregisterRequestType
	evalUpdateRequestType
	evalDeleteRequestType
	allocClientUpdateRequestType
	applyPlanResultsRequestType
	schedulerConfigRequestType
	allocUpdateDesiredTransitionRequestType
	deploymentStatusUpdateRequestType
	scalingEventRegisterRequestType
	batchNodeUpdateDrainRequestType
	nodeBatchDeregisterRequestType
	jobBatchDeregisterRequestType
	oneTimeTokenExpireRequestType

	// Entries that Raft writes of its own accord.
	raftNoop
	raftBarrier
	raftConfiguration
	messageTypes
)

var messageNames = [messageTypes]string{
	nodeRegisterRequestType:                 "NodeRegisterRequestType",
	nodeDeregisterRequestType:               "NodeDeregisterRequestType",
	nodeUpdateStatusRequestType:             "NodeUpdateStatusRequestType",
	nodeUpdateDrainRequestType:              "NodeUpdateDrainRequestType",
	nodeUpdateEligibilityRequestType:        "NodeUpdateEligibilityRequestType",
	upsertNodeEventsType:                    "UpsertNodeEventsType",
	jobRegisterRequestType:                  "JobRegisterRequestType",
	jobDeregisterRequestType:                "JobDeregisterRequestType",
	evalUpdateRequestType:                   "EvalUpdateRequestType",
	evalDeleteRequestType:                   "EvalDeleteRequestType",
	allocClientUpdateRequestType:            "AllocClientUpdateRequestType",
	applyPlanResultsRequestType:             "ApplyPlanResultsRequestType",
	schedulerConfigRequestType:              "SchedulerConfigRequestType",
	allocUpdateDesiredTransitionRequestType: "AllocUpdateDesiredTransitionRequestType",
	deploymentStatusUpdateRequestType:       "DeploymentStatusUpdateRequestType",
	scalingEventRegisterRequestType:         "ScalingEventRegisterRequestType",
	batchNodeUpdateDrainRequestType:         "BatchNodeUpdateDrainRequestType",
	nodeBatchDeregisterRequestType:          "NodeBatchDeregisterRequestType",
	jobBatchDeregisterRequestType:           "JobBatchDeregisterRequestType",
	oneTimeTokenExpireRequestType:           "OneTimeTokenExpireRequestType",
	raftNoop:                                "raft:Noop",
	raftBarrier:                             "raft:Barrier",
	raftConfiguration:                       "raft:Configuration",
}

func (t messageType) String() string {
	if t < messageTypes && messageNames[t] != "" {
		return messageNames[t]
	}
	return fmt.Sprintf("messageType(%d)", uint8(t))
}

// typeOf classifies any entry of the log, Raft's own included.
func typeOf(l *raft.Log) messageType {
	switch l.Type {
	case raft.LogNoop:
		return raftNoop
	case raft.LogBarrier:
		return raftBarrier
	case raft.LogConfiguration:
		return raftConfiguration
	}
	if len(l.Data) == 0 || messageType(l.Data[0]) >= raftNoop {
		return 0
	}
	return messageType(l.Data[0])
}

// The commands that have no wire type of their own in cluster/rpc.
type (
	jobRegisterRequest struct {
		Job  *rpc.Job
		Eval *broker.Evaluation
		Time int64 // Unix nanoseconds
	}
	jobDeregisterRequest struct {
		Namespace string
		JobID     string
		Purge     bool
		Eval      *broker.Evaluation
	}
	evalUpdateRequest struct {
		Evals []*broker.Evaluation
	}
	allocClientUpdateRequest struct {
		Alloc []*rpc.Allocation
		Evals []*broker.Evaluation
	}
	// desiredTransitionRequest asks schedulers to move, or to replace, allocations, and
	// brings the evaluations that make them look.
	desiredTransitionRequest struct {
		Migrate    []string
		Reschedule []string
		Evals      []*broker.Evaluation
	}
	deploymentStatusRequest struct {
		Update *rpc.DeploymentUpdate
		Eval   *broker.Evaluation
	}
	// scalingEventRequest records that a user scaled a group, for people to read.
	scalingEventRequest struct {
		Namespace string
		JobID     string
		TaskGroup string
		Count     int
		EvalID    string
		Time      int64 // Unix nanoseconds
	}
)

// entryHandle packs structs as arrays: the log needs no field names, since one build
// writes and reads it.
var entryHandle = func() *codec.MsgpackHandle {
	h := &codec.MsgpackHandle{}
	h.StructToArray = true
	return h
}()

// encodeEntry returns the bytes of one command.
func encodeEntry(t messageType, req any) ([]byte, error) {
	buf := make([]byte, 0, 512)
	if err := codec.NewEncoderBytes(&buf, entryHandle).Encode(req); err != nil {
		return nil, fmt.Errorf("encode %v: %w", t, err)
	}
	return append([]byte{byte(t)}, buf...), nil
}

// decodeEntry reads the body of a command of the given type.
func decodeEntry[T any](data []byte) (*T, error) {
	var req T
	if err := codec.NewDecoderBytes(data[1:], entryHandle).Decode(&req); err != nil {
		return nil, fmt.Errorf("decode %v: %w", messageType(data[0]), err)
	}
	return &req, nil
}
