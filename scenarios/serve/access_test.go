package serve

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/simctl/simctl/cluster/httpapi"
	"github.com/simctl/simctl/internal/virtualtest"
	"github.com/simctl/simctl/scenarios"
)

// pipes is a listener of connections on virtual time, which hold nothing that is not read.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error { close(p); return nil }

func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// piped runs a test of a handler on virtual time, with a connection to it.
func piped(t *testing.T, name string, h func() http.Handler, test func(*testing.T, net.Conn)) {
	t.Run(name, func(t *testing.T) {
		virtualtest.Test(t, func(t *testing.T) {
			ln, ended := make(pipes), make(chan error, 1)
			ctx, stop := context.WithCancel(t.Context())
			go func() { ended <- listen(ctx, ln, nil, h(), slog.New(slog.DiscardHandler)) }()
			client, server := net.Pipe()
			ln <- server
			test(t, client)
			client.Close()
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	})
}

// answer returns a handler that answers with JSON, or with an error if there is none of a value.
func answer(after time.Duration, v any) func() http.Handler {
	return func() http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(after)
			httpapi.AnswerJSON(w, r, v)
		})
	}
}

func send(t *testing.T, to net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(to, text); err != nil {
		t.Fatal(err)
	}
}

// TestNoReaders: whoever reads no answer is cut off, however short it is.
func TestNoReaders(t *testing.T) {
	for name, h := range map[string]func() http.Handler{
		"nothing there": http.NotFoundHandler,
		"a page":        func() http.Handler { return livePage("page") },
		"JSON":          answer(0, "text"),
		"an error":      answer(0, func() {}),
	} {
		piped(t, name, h, func(t *testing.T, client net.Conn) {
			send(t, client, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
			time.Sleep(time.Minute)
			if _, err := client.Write([]byte("G")); !errors.Is(err, io.ErrClosedPipe) {
				t.Errorf("after a minute, the connection is open (%v)", err)
			}
		})
	}
}

// TestLateAnswers: an answer that comes late, by the server or by whoever asks, can be read all the same.
func TestLateAnswers(t *testing.T) {
	for want, h := range map[int]func() http.Handler{
		http.StatusOK:                  answer(time.Minute, "text"),
		http.StatusInternalServerError: answer(time.Minute, func() {}),
		http.StatusServiceUnavailable: func() http.Handler {
			return newDirector(&Options{TimeScale: 1}, &samples{}, scenarios.NewEventReader(1, 0))
		},
	} {
		piped(t, http.StatusText(want), h, func(t *testing.T, client net.Conn) {
			send(t, client, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 15\r\n\r\n")
			time.Sleep(25 * time.Second)
			send(t, client, `event "heal" {}`)
			resp, err := http.ReadResponse(bufio.NewReader(client), nil)
			if err != nil || resp.StatusCode != want {
				t.Fatalf("%v, %v, want status %d", resp, err, want)
			}
			resp.Body.Close()
		})
	}
}

// TestAddressInUse: whoever starts a second cluster hears what to do.
func TestAddressInUse(t *testing.T) {
	first, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	for what, o := range map[string]Options{
		"--http-addr: ":          {HTTPAddr: first.Addr().String(), Servers: 1},
		"--rpc-addr, server 1: ": {HTTPAddr: "127.0.0.1:0", RPCAddr: first.Addr().String(), Servers: 1},
	} {
		_, err := o.open()
		if want := "; want an address of this machine and a port at which no program listens, or 0 for any"; err == nil ||
			!strings.HasPrefix(err.Error(), what) || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%serror %v, want one that ends with %q", what, err, want)
		}
	}
}
