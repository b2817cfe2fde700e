package remote

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/internal/nomadrpc"
	"github.com/simctl/simctl/nodesim"
)

// BenchmarkRegister registers nodes, 256 at a time, with a server that answers at once and
// shares the processors: both ends' work is in its figures.
func BenchmarkRegister(b *testing.B) {
	m := new(nomadrpc.Methods)
	nomadrpc.Handle(m, "Node.Register", func(context.Context, *nomadrpc.NodeRegisterRequest) (*nomadrpc.NodeUpdateResponse, error) {
		return &nomadrpc.NodeUpdateResponse{HeartbeatTTL: 10e9}, nil
	})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	srv := nomadrpc.NewServer(nomadrpc.ServerConfig{Methods: m})
	go func() { _ = srv.Serve(ln) }()
	defer srv.Close()
	servers, err := New(Config{Addresses: []string{ln.Addr().String()}})
	if err != nil {
		b.Fatal(err)
	}
	defer servers.Close()
	s := servers.Dial(0)
	attributes := nodesim.DefaultAttributes()
	var next atomic.Int64
	b.SetParallelism(128)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			id := fmt.Sprintf("%08x-0000-4000-8000-000000000000", next.Add(1))
			node := &rpc.Node{ID: id, SecretID: id, Name: "client", Datacenter: "dc1", Attributes: attributes, Resources: nodesim.DefaultResources, Status: rpc.NodeStatusInit}
			if _, err := s.Register(b.Context(), &rpc.NodeRegisterRequest{Node: node}); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "registrations/s")
}
