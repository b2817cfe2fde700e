package nomadrpc

import (
	"context"
	"errors"
	"fmt"
	"net"
)

// Methods are what a Server answers. Fill it before it is used.
type Methods struct {
	byName map[string]method
}

// method decodes an argument and returns the call that is left to make.
type method func(argument []byte) (call func(context.Context) (any, error), err error)

// Handle makes serve answer the calls of a method, such as Node.Register. Serve may block. Its
// context ends with the connection, and Caller takes the caller's address from it. If serve returns
// an error, the caller gets the text of the error and no answer.
func Handle[Req, Resp any](m *Methods, name string, serve func(ctx context.Context, req *Req) (*Resp, error)) {
	if m.byName == nil {
		m.byName = map[string]method{}
	}
	m.byName[name] = func(argument []byte) (func(context.Context) (any, error), error) {
		req := new(Req)
		if err := decode(argument, req); err != nil {
			return nil, fmt.Errorf("argument of %s: %w", name, err)
		}
		return func(ctx context.Context) (any, error) { return serve(ctx, req) }, nil
	}
}

// ErrHangUp is the error of a method that does not answer: the caller's stream ends, as when the server's process has.
var ErrHangUp = errors.New("hang up")

type callerKey struct{}

// Caller returns the address of the other end of the connection that a call came from.
func Caller(ctx context.Context) net.Addr {
	addr, _ := ctx.Value(callerKey{}).(net.Addr)
	return addr
}

// callHeader and answerHeader are net/rpc's Request and Response.
type callHeader struct {
	ServiceMethod string
	Seq           uint64
}

type answerHeader struct {
	ServiceMethod string
	Seq           uint64
	Error         string
}

// noBody stands for the answer that a failed call does not have. It is an empty map.
type noBody struct{}

// streamingHeader and streamingAck begin a streaming call (nomad/structs/streaming_rpc.go).
type streamingHeader struct{ Method string }
type streamingAck struct{ Error string }
