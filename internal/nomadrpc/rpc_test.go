package nomadrpc

import (
	"context"
	"errors"
	"io"
	"net"
	"net/rpc"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-msgpack/v2/codec"
	msgpackrpc "github.com/hashicorp/net-rpc-msgpackrpc/v2"
	"github.com/hashicorp/yamux"
	"go.uber.org/goleak"

	"github.com/simctl/simctl/internal/rusage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo answers Node.GetClientAllocs with the request, and Test.Wait when its context ends.
func echo() *Methods {
	m := new(Methods)
	Handle(m, "Node.GetClientAllocs", func(_ context.Context, req *NodeSpecificRequest) (*NodeClientAllocsResponse, error) {
		if req.NodeID == "" {
			return nil, errors.New("Missing node ID for client status update")
		}
		return &NodeClientAllocsResponse{Allocs: map[string]uint64{req.NodeID: req.MinQueryIndex}, QueryMeta: QueryMeta{Index: req.MinQueryIndex + 1}}, nil
	})
	Handle(m, "Test.Wait", func(ctx context.Context, _ *GenericRequest) (*GenericResponse, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	Handle(m, "Test.HangUp", func(context.Context, *GenericRequest) (*GenericResponse, error) { return nil, ErrHangUp })
	Handle(m, "Test.Caller", func(ctx context.Context, _ *GenericRequest) (*string, error) {
		return new(Caller(ctx).String()), nil
	})
	return m
}

// serve starts a server on loopback and returns its address.
func serve(t testing.TB, cfg ServerConfig) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Methods == nil {
		cfg.Methods = echo()
	}
	s := NewServer(cfg)
	done := make(chan error, 1)
	go func() { done <- s.Serve(ln) }()
	t.Cleanup(func() {
		s.Close()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return ln.Addr().String()
}

func dial(t testing.TB, address string, cfg DialConfig) *Session {
	t.Helper()
	s, err := Dial(t.Context(), address, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func TestCalls(t *testing.T) {
	s := dial(t, serve(t, ServerConfig{}), DialConfig{})
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			for round := range 5 {
				req := &NodeSpecificRequest{NodeID: strings.Repeat("n", i+1), QueryOptions: QueryOptions{MinQueryIndex: uint64(round)}}
				var resp NodeClientAllocsResponse
				if err := s.Call(t.Context(), "Node.GetClientAllocs", req, &resp); err != nil {
					t.Errorf("call %d: %v", i, err)
				} else if at, ok := resp.Allocs[req.NodeID]; !ok || at != uint64(round) || resp.Index != uint64(round)+1 {
					t.Errorf("call %d was answered with %+v", i, resp)
				}
			}
		})
	}
	wg.Wait()
	if n := s.mux.NumStreams(); n > 200 {
		t.Errorf("%d streams, want each used again", n)
	}
}

func TestErrorsAreTheServersOwnWords(t *testing.T) {
	s := dial(t, serve(t, ServerConfig{}), DialConfig{})
	for method, want := range map[string]string{
		"Node.GetClientAllocs": "Missing node ID for client status update",
		"Node.Unheard":         "rpc: can't find method Node.Unheard",
	} {
		err := s.Call(t.Context(), method, &NodeSpecificRequest{}, new(NodeClientAllocsResponse))
		var answered ServerError
		if !errors.As(err, &answered) || err.Error() != want {
			t.Errorf("%s: error %v, want %q", method, err, want)
		}
	}
	if n := s.mux.NumStreams(); n != 1 {
		t.Errorf("%d streams after two failed calls, want 1 used twice", n)
	}
}

// TestHangUp: a server that does not answer ends the call, not the connection, and says nothing.
func TestHangUp(t *testing.T) {
	s := dial(t, serve(t, ServerConfig{}), DialConfig{})
	err := s.Call(t.Context(), "Test.HangUp", &GenericRequest{}, &GenericResponse{})
	if _, answered := errors.AsType[ServerError](err); !errors.Is(err, io.EOF) || answered {
		t.Errorf("the call ends with %v, want the end of the stream", err)
	}
	var caller string
	if err := s.Call(t.Context(), "Test.Caller", &GenericRequest{}, &caller); err != nil || s.Closed() {
		t.Errorf("the next call: %v, and the connection is closed: %v", err, s.Closed())
	}
}

func TestACallEndsWithItsContext(t *testing.T) {
	s := dial(t, serve(t, ServerConfig{}), DialConfig{})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Call(ctx, "Test.Wait", &GenericRequest{}, new(GenericResponse)) }()
	// The session answers others meanwhile.
	if err := s.Call(t.Context(), "Node.GetClientAllocs", &NodeSpecificRequest{NodeID: "a"}, new(NodeClientAllocsResponse)); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}

func TestASessionEndsItsCalls(t *testing.T) {
	s := dial(t, serve(t, ServerConfig{}), DialConfig{})
	done := make(chan error)
	go func() { done <- s.Call(t.Context(), "Test.Wait", &GenericRequest{}, new(GenericResponse)) }()
	for s.mux.NumStreams() == 0 {
		time.Sleep(time.Millisecond)
	}
	s.Close()
	if err := <-done; err == nil {
		t.Error("the call succeeded although its session ended")
	}
	if !s.Closed() {
		t.Error("the session is not closed")
	}
}

// TestASessionEndsThousandsOfCalls: however the session ends, all its calls do, and nobody
// waits for the last of them.
func TestASessionEndsThousandsOfCalls(t *testing.T) {
	const calls = 3000
	for name, end := range map[string]func(s *Session){
		"closed":          (*Session).Close,
		"connection lost": func(s *Session) { s.wire.Conn.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			s := dial(t, serve(t, ServerConfig{}), DialConfig{})
			failed := make(chan error, calls)
			for range calls {
				go func() { failed <- s.Call(t.Context(), "Test.Wait", &GenericRequest{}, new(GenericResponse)) }()
			}
			for {
				s.wire.mu.Lock()
				waiting := len(s.wire.reading)
				s.wire.mu.Unlock()
				if waiting == calls {
					break
				}
				runtime.Gosched()
			}
			before := rusage.CPU()
			end(s)
			for range calls {
				if err := <-failed; err == nil {
					t.Fatal("a call succeeded although its session ended")
				}
			}
			took := rusage.CPU() - before
			t.Logf("the end took %v of processor time", took)
			if took > 10*time.Second {
				t.Errorf("the end took %v of processor time", took)
			}
		})
	}
}

// TestHashicorpsClient and TestHashicorpsServer put the libraries that Nomad uses at the other
// end.
func TestHashicorpsClient(t *testing.T) {
	address := serve(t, ServerConfig{})
	for _, mode := range []byte{modeRPC, modeMultiplex, modeMultiplexV2} {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		write(t, conn, mode)
		stream := conn
		if mode != modeRPC {
			mux, err := yamux.Client(conn, yamuxConfig())
			if err != nil {
				t.Fatal(err)
			}
			defer mux.Close()
			if stream, err = mux.Open(); err != nil {
				t.Fatal(err)
			}
			if mode == modeMultiplexV2 {
				write(t, stream, modeRPC)
			}
		}
		cc := msgpackrpc.NewCodecFromHandle(true, true, stream, handle)
		for range 2 {
			var resp NodeClientAllocsResponse
			if err := msgpackrpc.CallWithCodec(cc, "Node.GetClientAllocs", &NodeSpecificRequest{NodeID: "x"}, &resp); err != nil || resp.Index != 1 {
				t.Errorf("mode %#x: %+v, %v", mode, resp, err)
			}
			if err := msgpackrpc.CallWithCodec(cc, "Node.GetClientAllocs", &NodeSpecificRequest{}, &resp); err == nil || err.Error() != "Missing node ID for client status update" {
				t.Errorf("mode %#x: error %v", mode, err)
			}
		}
	}
}

// Node is net/rpc's idea of a receiver.
type nodeReceiver struct{}

func (nodeReceiver) GetClientAllocs(req *NodeSpecificRequest, resp *NodeClientAllocsResponse) error {
	if req.NodeID == "" {
		return errors.New("No cluster leader")
	}
	resp.Allocs, resp.Index = map[string]uint64{req.NodeID: 7}, 8
	return nil
}

func TestHashicorpsServer(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	handlers := rpc.NewServer()
	if err := handlers.RegisterName("Node", nodeReceiver{}); err != nil {
		t.Fatal(err)
	}
	refused := make(chan streamingAck, 1)
	go func() {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		read(t, conn, modeMultiplexV2)
		mux, err := yamux.Server(conn, yamuxConfig())
		if err != nil {
			t.Error(err)
			return
		}
		defer mux.Close()
		back, err := mux.Open() // a server asks its client for a file
		if err != nil {
			t.Error(err)
			return
		}
		write(t, back, modeStreaming)
		var ack streamingAck
		if err := encode(writer(back), &streamingHeader{"FileSystem.Stream"}); err != nil {
			t.Error(err)
		} else if err := codec.NewDecoder(back, handle).Decode(&ack); err != nil {
			t.Error(err)
		}
		refused <- ack
		stream, err := mux.Accept()
		if err != nil {
			return
		}
		read(t, stream, modeRPC)
		handlers.ServeCodec(msgpackrpc.NewCodecFromHandle(true, true, stream, handle))
		close(refused)
	}()
	s, err := Dial(t.Context(), ln.Addr().String(), DialConfig{})
	if err != nil {
		t.Fatal(err)
	}
	var resp NodeClientAllocsResponse
	if err := s.Call(t.Context(), "Node.GetClientAllocs", &NodeSpecificRequest{NodeID: "a"}, &resp); err != nil || resp.Index != 8 || resp.Allocs["a"] != 7 {
		t.Errorf("%+v, %v", resp, err)
	}
	if err := s.Call(t.Context(), "Node.GetClientAllocs", &NodeSpecificRequest{}, &resp); err == nil || err.Error() != "No cluster leader" {
		t.Errorf("error %v", err)
	}
	if err := s.Call(t.Context(), "Node.Nothing", &NodeSpecificRequest{}, &resp); err == nil || err.Error() != "rpc: can't find method Node.Nothing" {
		t.Errorf("error %v", err)
	}
	s.Close()
	if ack := <-refused; ack.Error != `Unknown rpc method: "FileSystem.Stream"` {
		t.Errorf("the server's streaming call was answered with %+v", ack)
	}
	<-refused
}

func write(t testing.TB, conn net.Conn, b ...byte) {
	t.Helper()
	if _, err := conn.Write(b); err != nil {
		t.Error(err)
	}
}

func read(t testing.TB, conn net.Conn, want byte) {
	t.Helper()
	var b [1]byte
	if _, err := conn.Read(b[:]); err != nil || b[0] != want {
		t.Errorf("read %#x, %v; want %#x", b[0], err, want)
	}
}
