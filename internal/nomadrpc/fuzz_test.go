package nomadrpc

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-msgpack/v2/codec"
)

func parse(text string, limits Limits) ([]byte, error) {
	return readMessage(bufio.NewReader(strings.NewReader(text)), nil, limits, nil)
}

// seeds are messages of each kind.
func seeds(t testing.TB) []string {
	healthy := true
	return []string{
		packed(t, &callHeader{ServiceMethod: "Node.Register", Seq: 1}),
		packed(t, &NodeRegisterRequest{Node: &Node{ID: "a", Attributes: map[string]string{"b": "c"}, Drivers: map[string]*DriverInfo{"d": {UpdateTime: time.Unix(1, 2)}}}}),
		packed(t, &AllocUpdateRequest{Alloc: []*Allocation{{ID: "a", TaskStates: map[string]*TaskState{"t": {State: "running"}}, DeploymentStatus: &AllocDeploymentStatus{Healthy: &healthy}}}}),
		packed(t, &NodeClientAllocsResponse{Allocs: map[string]uint64{"a": 1 << 40}}),
		packed(t, map[string]any{"a": []any{-1, 1.5, float32(2), "x", []byte{1}, nil, true, int64(-1 << 40)}}),
		"\xdc\x00\x02\xc0\xc0", "\xdf\x00\x00\x00\x01\xa1k\xc2",
	}
}

// FuzzMessage compares where a message ends with where the codec says that it ends.
func FuzzMessage(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add([]byte(s))
		f.Add([]byte(s[:len(s)/2]))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		raw, err := parse(string(input), RequestLimits)
		if !strings.HasPrefix(string(input), string(raw)) {
			t.Fatalf("read %x of %x", raw, input)
		}
		if err != nil {
			return
		}
		var value any
		d := codec.NewDecoderBytes(input, handle)
		if err := d.Decode(&value); err == nil && d.NumBytesRead() != len(raw) {
			t.Errorf("the value at the start of %x is %d bytes long, the codec says %d", input, len(raw), d.NumBytesRead())
		}
		for _, v := range []any{
			new(callHeader), new(answerHeader), new(NodeRegisterRequest), new(NodeUpdateStatusRequest), new(NodeUpdateResponse), new(NodeSpecificRequest),
			new(NodeClientAllocsResponse), new(AllocsGetRequest), new(AllocsGetResponse), new(AllocUpdateRequest), new(EmitNodeEventsRequest), new(any),
		} {
			_ = decode(raw, v) // must return
		}
	})
}

// FuzzListener writes to a server whatever comes, after a mode byte that it knows or not.
func FuzzListener(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add([]byte("\x01" + s))
		f.Add([]byte("\x05" + s))
	}
	f.Add([]byte("\x04\x16\x03\x01"))
	f.Add([]byte("\x06\x00\x01\x00\x01\x00\x00\x00\x01\x00\x00\x00\x00" + "\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x01\x01"))
	f.Add([]byte("\x03\x00\x01\x00\x01\x00\x00\x00\x01\x00\x00\x00\x00" + "\x00\x00\x00\x00\x00\x00\x00\x01\xff\xff\xff\xff"))
	f.Add([]byte("\x06\x00\x02\x00\x01\x00\x00\x00\x00\x00\x00\x00\x07" + "\x00\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00\x09"))
	f.Fuzz(func(t *testing.T, input []byte) {
		s := NewServer(ServerConfig{Methods: echo(), HandshakeTimeout: time.Second, MessageTimeout: time.Second})
		here, there := net.Pipe()
		s.wg.Go(func() {
			defer there.Close()
			_ = s.conn(there)
		})
		go func() {
			_, _ = here.Write(input)
			here.Close()
		}()
		_, _ = io.Copy(io.Discard, here)
		s.Close()
	})
}
