package nomadrpc

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/yamux"

	"github.com/simctl/simctl/internal/virtualtest"
)

// pipes is a listener whose connections are net.Pipes, which a bubble understands.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func newPipes() *pipes { return &pipes{make(chan net.Conn), make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	select {
	case <-p.closed:
	default:
		close(p.closed)
	}
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes"} }

func (p *pipes) dial() net.Conn {
	here, there := net.Pipe()
	p.conns <- there
	return here
}

// inBubble runs a server on virtual time, and returns what it logged.
func inBubble(t *testing.T, cfg ServerConfig, f func(t *testing.T, ln *pipes)) string {
	t.Helper()
	var log bytes.Buffer
	virtualtest.Test(t, func(t *testing.T) {
		cfg := cfg
		cfg.Methods = echo()
		cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
		s, ln := NewServer(cfg), newPipes()
		go func() {
			if err := s.Serve(ln); err != nil {
				t.Errorf("Serve: %v", err)
			}
		}()
		f(t, ln)
		s.Close()
	})
	return log.String()
}

// endsAfter returns when the server closed the connection.
func endsAfter(t *testing.T, conn net.Conn) time.Duration {
	t.Helper()
	started := time.Now()
	if _, err := io.Copy(io.Discard, conn); err != nil {
		t.Error(err)
	}
	return time.Since(started)
}

func TestBadInput(t *testing.T) {
	call := packed(t, &callHeader{ServiceMethod: "Node.GetClientAllocs", Seq: 1}, &NodeSpecificRequest{NodeID: "a"})
	cases := []struct {
		name  string
		input string
		after time.Duration // when the server closes the connection
		log   string
	}{
		{"nothing", "", 5 * time.Second, "no first byte: "},
		{"HTTP", "GET / HTTP/1.1\r\n\r\n", 0, "first byte is 0x47: want 0x01, 0x03 or 0x06"},
		{"Raft", "\x02", 0, "wants to speak Raft"},
		{"TLS", "\x04", 0, "wants TLS, which this server does not speak"},
		{"no MessagePack", "\x01\xc1", 0, "0xc1 starts no value"},
		{"no header", "\x01\x07", 0, "header of a call: "},
		{"half a header", "\x01" + call[:5], 30 * time.Second, "header of a call: "},
		{"half an argument", "\x01" + call[:len(call)-3], 30 * time.Second, `argument of \"Node.GetClientAllocs\": `},
		{"a string of 4 GB", "\x01\xdb\xff\xff\xff\xff", 0, "message too large: 4294967300 bytes or more, at most 8388608 are allowed"},
		{"an array of 4G values", "\x01\xdd\xff\xff\xff\xff" + strings.Repeat("\xc0", 1<<19), 0, "message too large: more than 262144 values"},
		{"a map in a map in a map", "\x01" + strings.Repeat("\x81", 1000), 0, "message too large: values are 128 deep"},
		{"a streaming call", "\x05" + packed(t, &streamingHeader{Method: "FileSystem.Logs"}), 0, ""},
		{"half a streaming call", "\x05\x81", 30 * time.Second, "header of a streaming call: "},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			log := inBubble(t, ServerConfig{}, func(t *testing.T, ln *pipes) {
				conn := ln.dial()
				go conn.Write([]byte(c.input))
				if after := endsAfter(t, conn); after != c.after {
					t.Errorf("closed after %v, want %v", after, c.after)
				}
			})
			if !strings.Contains(log, c.log) || strings.Count(log, "\n") > 1 || (c.log == "") != (log == "") {
				t.Errorf("logged %q, want one line with %q", log, c.log)
			}
		})
	}
}

func packed(t testing.TB, values ...any) string {
	t.Helper()
	var text string
	if err := encode(func(raw []byte) error { text = string(raw); return nil }, values...); err != nil {
		t.Fatal(err)
	}
	return text
}

func TestASlowWriterIsCutOff(t *testing.T) {
	call := packed(t, &callHeader{ServiceMethod: "Node.GetClientAllocs", Seq: 1}, &NodeSpecificRequest{NodeID: "a"})
	log := inBubble(t, ServerConfig{MessageTimeout: 10 * time.Second}, func(t *testing.T, ln *pipes) {
		conn := ln.dial()
		var writer sync.WaitGroup
		defer writer.Wait()
		writer.Go(func() {
			for _, b := range []byte("\x01" + call) {
				if _, err := conn.Write([]byte{b}); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		})
		// The first second passes after the byte that starts the connection.
		if after := endsAfter(t, conn); after != 11*time.Second {
			t.Errorf("closed after %v, want 11s", after)
		}
	})
	if !strings.Contains(log, "header of a call: ") || strings.Count(log, "\n") != 1 {
		t.Errorf("logged %q", log)
	}
}

func TestASlowReaderIsCutOff(t *testing.T) {
	call := packed(t, &callHeader{ServiceMethod: "Node.GetClientAllocs", Seq: 1}, &NodeSpecificRequest{NodeID: "a"})
	inBubble(t, ServerConfig{MessageTimeout: 10 * time.Second}, func(t *testing.T, ln *pipes) {
		conn := ln.dial()
		if _, err := conn.Write([]byte("\x01" + call)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(11 * time.Second)
		synctest.Wait()
		if n, err := conn.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("read %d bytes, %v; want that the server has given up", n, err)
		}
	})
}

func TestIdleConnectionsBetweenCallsStay(t *testing.T) {
	call := packed(t, &callHeader{ServiceMethod: "Node.GetClientAllocs", Seq: 1}, &NodeSpecificRequest{NodeID: "a"})
	log := inBubble(t, ServerConfig{}, func(t *testing.T, ln *pipes) {
		conn := ln.dial()
		if _, err := conn.Write([]byte{modeRPC}); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			time.Sleep(time.Hour)
			if _, err := io.WriteString(conn, call); err != nil {
				t.Fatal(err)
			}
			if n, err := conn.Read(make([]byte, 4096)); n == 0 || err != nil {
				t.Fatalf("read %d bytes, %v", n, err)
			}
		}
		conn.Close()
		synctest.Wait()
	})
	if log != "" {
		t.Errorf("logged %q, want nothing", log)
	}
}

func TestThousandsOfIdleConnections(t *testing.T) {
	const limit, tried = 2000, 3000
	log := inBubble(t, ServerConfig{MaxConns: limit}, func(t *testing.T, ln *pipes) {
		started := time.Now()
		refused := 0
		var conns []net.Conn
		for range tried {
			conns = append(conns, ln.dial())
		}
		synctest.Wait()
		for i, conn := range conns {
			if _, err := io.Copy(io.Discard, conn); err != nil {
				t.Fatal(err)
			}
			at := time.Since(started)
			if i < limit && at != 5*time.Second {
				t.Fatalf("connection %d was closed after %v, want 5s", i, at)
			}
			if i >= limit {
				refused++
			}
		}
		if conn := ln.dial(); refused != tried-limit {
			t.Errorf("%d refused", refused)
		} else if _, err := conn.Write([]byte{modeRPC}); err != nil {
			t.Errorf("there is room again, but: %v", err)
		}
	})
	if lines := strings.Count(log, "\n"); lines != 2 || !strings.Contains(log, "there are 2000 connections, which is as many as may be") {
		t.Errorf("logged %d lines, want one about the limit and one about the silence:\n%s", lines, log)
	}
}

func TestConnectionsOfAnAddress(t *testing.T) {
	log := inBubble(t, ServerConfig{MaxConnsPerAddress: 1}, func(t *testing.T, ln *pipes) {
		first := ln.dial()
		if second := ln.dial(); endsAfter(t, second) != 0 {
			t.Error("the second connection was not refused at once")
		}
		first.Close()
		synctest.Wait()
		if _, err := ln.dial().Write([]byte{modeRPC}); err != nil {
			t.Error(err)
		}
	})
	if !strings.Contains(log, "there are 1 connections from pipe") {
		t.Errorf("logged %q", log)
	}
}

// TestLargeMessagesWaitForEachOther sends as many large messages as may be read at a time, but
// for their last bytes. One more waits in vain.
func TestLargeMessagesWaitForEachOther(t *testing.T) {
	large := "\x01\xdb\x00\x10\x00\x00" + strings.Repeat("x", 1<<17)
	log := inBubble(t, ServerConfig{MaxLargeMessages: 2}, func(t *testing.T, ln *pipes) {
		var conns []net.Conn
		for range 3 {
			conn := ln.dial()
			conns = append(conns, conn)
			go io.WriteString(conn, large)
			synctest.Wait()
		}
		for _, conn := range conns {
			if after := endsAfter(t, conn); after > 31*time.Second {
				t.Errorf("closed after %v", after)
			}
		}
	})
	if !strings.Contains(log, "header of a call: ") {
		t.Errorf("logged %q", log)
	}
}

func TestStreamsOfAConnection(t *testing.T) {
	s := dial(t, serve(t, ServerConfig{MaxStreams: 10}), DialConfig{})
	for range 10 {
		go s.Call(t.Context(), "Test.Wait", &GenericRequest{}, new(GenericResponse))
	}
	// The one beyond the limit, whichever it is, ends the session and with it all calls.
	if err := s.Call(t.Context(), "Test.Wait", &GenericRequest{}, new(GenericResponse)); err == nil {
		t.Error("11 calls are under way, want 10 at most")
	}
	if !s.Closed() {
		t.Error("the session goes on")
	}
}

// TestUnreadDataIsBounded fills the windows of streams whose calls are under way.
func TestUnreadDataIsBounded(t *testing.T) {
	address := serve(t, ServerConfig{})
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	write(t, conn, modeMultiplex)
	mux, err := yamux.Client(conn, yamuxConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer mux.Close()
	call := packed(t, &callHeader{ServiceMethod: "Test.Wait", Seq: 1}, &GenericRequest{})
	window := make([]byte, 200<<10)
	for n := 0; ; n++ {
		if n > 2*maxUnread/len(window) {
			t.Fatalf("the server keeps %d windows", n)
		}
		stream, err := mux.Open()
		if err == nil {
			if _, err = io.WriteString(stream, call); err == nil {
				_, err = stream.Write(window)
			}
		}
		if err != nil {
			if n < maxUnread/len(window)/2 {
				t.Errorf("the session ended after %d windows: %v", n, err)
			}
			return
		}
	}
}

// TestPingsAreBounded sends pings and reads no answers.
func TestPingsAreBounded(t *testing.T) {
	const ping = "\x00\x02\x00\x01\x00\x00\x00\x00\x00\x00\x00\x07"
	address := serve(t, ServerConfig{})
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	write(t, conn, modeMultiplexV2)
	flood := []byte(strings.Repeat(ping, 1000))
	for err == nil { // until the server closes the connection
		_, err = conn.Write(flood)
	}
}

// TestFramesAreFollowed: frames are told from what is in them, however they are cut.
func TestFramesAreFollowed(t *testing.T) {
	wire := "\x00\x01\x00\x01\x00\x00\x00\x01\x00\x00\xff\xff" + // a window update has no data
		"\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x0d" + "\x00\x02\x00\x01\x00\x00\x00\x00\x00\x00\x00\x07\x00" + // data that look like a ping
		"\x00\x02\x00\x01\x00\x00\x00\x00\x00\x00\x00\x07"
	for size := 1; size <= len(wire); size++ {
		var f frames
		for rest := []byte(wire); len(rest) > 0; rest = rest[min(size, len(rest)):] {
			if err := f.follow(rest[:min(size, len(rest))]); err != nil {
				t.Fatal(err)
			}
		}
		if f.unread.Load() != 13 || f.pings != 1 || f.data != 0 || f.got != 0 {
			t.Fatalf("in pieces of %d: %d bytes unread, %d pings", size, f.unread.Load(), f.pings)
		}
	}
}

// TestALieAboutALengthCostsNothing claims lengths of gigabytes in every way there is.
func TestALieAboutALengthCostsNothing(t *testing.T) {
	for _, lie := range []string{
		"\xc6\x7f\xff\xff\xff", "\xdb\x7f\xff\xff\xff", "\xdd\x7f\xff\xff\xff", "\xdf\x7f\xff\xff\xff", "\xc9\x7f\xff\xff\xff",
		"\x81\xa5Alloc\xdd\x7f\xff\xff\xff\x80\x80",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := parse(lie, AnswerLimits)
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("%q was accepted", lie)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20 {
			t.Errorf("%q took %d bytes", lie, took)
		}
	}
}
