package nodesim

import (
	"context"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
)

// do makes a call and returns the answer. node is only for registrations.
func do(ctx context.Context, server rpc.NodeServer, asked call, id string, node *rpc.Node) answer {
	switch asked.kind {
	case callRegister:
		resp, err := server.Register(ctx, &rpc.NodeRegisterRequest{Node: node})
		if err != nil {
			return answer{err: err}
		}
		return answer{ttl: resp.HeartbeatTTL}
	case callHeartbeat:
		resp, err := server.UpdateStatus(ctx, &rpc.NodeUpdateStatusRequest{NodeID: id, Status: rpc.NodeStatusReady})
		if err != nil {
			return answer{err: err}
		}
		return answer{ttl: resp.HeartbeatTTL}
	case callWatch:
		resp, err := server.GetClientAllocs(ctx, &rpc.NodeSpecificRequest{
			NodeID: id, SecretID: id, MinQueryIndex: asked.index, MaxQueryTime: asked.block,
		})
		if err != nil {
			return answer{err: err}
		}
		return answer{index: resp.Index, allocs: resp.Allocs}
	default: // callSync
		_, err := server.UpdateAlloc(ctx, &rpc.AllocUpdateRequest{NodeID: id, Alloc: asked.report})
		return answer{err: err}
	}
}

// linger waits for d, or until ctx is done.
func linger(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
