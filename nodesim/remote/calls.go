package remote

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/internal/nomadrpc"
)

// server is one server, as a fleet calls it.
type server struct {
	*Servers
	number int
}

var _ rpc.NodeServer = server{}

// permissionDenied is Nomad's answer to a token that it does not like.
const permissionDenied = "Permission denied"

// classify makes an error of a call one that clients tell apart.
func classify(err error) error {
	var answered nomadrpc.ServerError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &answered):
		return fmt.Errorf("%w: %w", rpc.ErrUnreachable, err)
	case strings.Contains(err.Error(), rpc.ErrNodeNotFound.Error()):
		return as{rpc.ErrNodeNotFound, err}
	case strings.Contains(err.Error(), rpc.ErrNoLeader.Error()):
		return as{rpc.ErrNoLeader, err}
	}
	return err
}

// as is an error of a kind, in words of its own.
type as struct{ kind, said error }

func (a as) Error() string   { return a.said.Error() }
func (a as) Unwrap() []error { return []error{a.kind, a.said} }

func (s server) Register(ctx context.Context, req *rpc.NodeRegisterRequest) (*rpc.NodeUpdateResponse, error) {
	n := s.node(req.Node.ID)
	out := nomadrpc.NodeRegisterRequest{Node: s.wireNode(req.Node, n.secret), WriteRequest: nomadrpc.WriteRequest{Region: s.cfg.Region}}
	if s.habits.tokens {
		out.AuthToken = n.registerToken(s.cfg.IntroToken)
	}
	var resp nomadrpc.NodeUpdateResponse
	if err := s.call(ctx, n, "Node.Register", &out, &resp); err != nil {
		if strings.Contains(err.Error(), permissionDenied) {
			n.refused()
		}
		return nil, err
	}
	return s.accepted(n, &resp), nil
}

func (s server) UpdateStatus(ctx context.Context, req *rpc.NodeUpdateStatusRequest) (*rpc.NodeUpdateResponse, error) {
	n := s.node(req.NodeID)
	out := nomadrpc.NodeUpdateStatusRequest{NodeID: req.NodeID, Status: req.Status, WriteRequest: s.write(n)}
	var resp nomadrpc.NodeUpdateResponse
	if err := s.call(ctx, n, "Node.UpdateStatus", &out, &resp); err != nil {
		return nil, err
	}
	return s.accepted(n, &resp), nil
}

// write returns what every call that writes has.
func (s server) write(n *node) nomadrpc.WriteRequest {
	w := nomadrpc.WriteRequest{Region: s.cfg.Region}
	if s.habits.tokens {
		w.AuthToken = n.token()
	}
	return w
}

func (s server) accepted(n *node, resp *nomadrpc.NodeUpdateResponse) *rpc.NodeUpdateResponse {
	identity := resp.SignedIdentity
	if !s.habits.identities {
		identity = nil
	}
	n.accepted(identity)
	return &rpc.NodeUpdateResponse{HeartbeatTTL: resp.HeartbeatTTL, Index: resp.Index}
}

func (s server) UpdateAlloc(ctx context.Context, req *rpc.AllocUpdateRequest) (*rpc.WriteResponse, error) {
	n := s.node(req.NodeID)
	out := nomadrpc.AllocUpdateRequest{Alloc: n.wireUpdates(req.Alloc), WriteRequest: s.write(n)}
	var resp nomadrpc.GenericResponse
	if err := s.call(ctx, n, "Node.UpdateAlloc", &out, &resp); err != nil {
		return nil, err
	}
	return &rpc.WriteResponse{Index: resp.Index}, nil
}
