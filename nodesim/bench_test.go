package nodesim

import (
	"context"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/internal/virtualtest"
)

// BenchmarkFleet measures the memory of a client when all are ready, and the time of a
// heartbeat during ten minutes at a TTL of 30 s.
func BenchmarkFleet(b *testing.B) {
	for _, nodes := range []int{5_000, 100_000} {
		for _, reporting := range []bool{false, true} {
			name := "nodes=" + strconv.Itoa(nodes) + "/reporting=" + strconv.FormatBool(reporting)
			b.Run(name, func(b *testing.B) {
				for b.Loop() {
					// A bubble needs a T, and the figures are of the inside of one.
					bytes, beats, took := measureFleet(new(testing.T), nodes, reporting)
					b.ReportMetric(bytes/float64(nodes), "B/client")
					b.ReportMetric(float64(took.Nanoseconds())/float64(beats), "ns/heartbeat")
				}
			})
		}
	}
}

func measureFleet(t *testing.T, nodes int, reporting bool) (bytes float64, beats uint64, took time.Duration) {
	start := time.Now()
	virtualtest.Test(t, func(*testing.T) {
		before := heap()
		server := &blindServer{ttl: 30 * time.Second}
		f, err := NewFleet(Config{Nodes: nodes, Servers: 3, ReportAllocs: reporting,
			Dial: func(int) rpc.NodeServer { return server }})
		if err != nil {
			panic(err)
		}
		f.Start(context.Background())
		waitReady(f)
		time.Sleep(time.Second)
		bytes = heap() - before
		time.Sleep(10 * time.Minute)
		beats = f.Stats().Heartbeats
		f.Shutdown()
	})
	return bytes, beats, time.Since(start)
}

func heap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapInuse + m.StackInuse)
}

// blindServer answers every call but watches at once, and remembers nothing.
type blindServer struct{ ttl time.Duration }

func (s *blindServer) Register(context.Context, *rpc.NodeRegisterRequest) (*rpc.NodeUpdateResponse, error) {
	return &rpc.NodeUpdateResponse{HeartbeatTTL: s.ttl}, nil
}

func (s *blindServer) UpdateStatus(context.Context, *rpc.NodeUpdateStatusRequest) (*rpc.NodeUpdateResponse, error) {
	return &rpc.NodeUpdateResponse{HeartbeatTTL: s.ttl}, nil
}

func (s *blindServer) GetClientAllocs(_ context.Context, req *rpc.NodeSpecificRequest, resume func(rpc.ClientAllocsCall)) (*rpc.NodeClientAllocsResponse, error) {
	time.AfterFunc(req.MaxQueryTime, func() {
		resume(func() (*rpc.NodeClientAllocsResponse, error) { return &rpc.NodeClientAllocsResponse{Index: 1}, nil })
	})
	return nil, nil
}

func (s *blindServer) UpdateAlloc(context.Context, *rpc.AllocUpdateRequest) (*rpc.WriteResponse, error) {
	return &rpc.WriteResponse{}, nil
}
