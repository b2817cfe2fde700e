package nomadproc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain makes the test program a stand-in for Nomad if it is called like one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "version" {
		fmt.Println("Nomad v1.4.3 (stand-in)\nRevision none")
		os.Exit(0)
	}
	if len(os.Args) > 2 && os.Args[1] == "agent" {
		standIn(strings.TrimPrefix(os.Args[2], configFlag))
	}
	os.Exit(m.Run())
}

// standIn serves what starting a cluster asks for, until it is interrupted. Its leader is the first
// server. With max_heartbeats_per_second = 13 it fails as a server with bad luck does.
func standIn(config string) {
	fail := func(err error) {
		fmt.Println("==> it cannot be:", err)
		os.Exit(1)
	}
	text, err := os.ReadFile(config)
	if err != nil {
		fail(err)
	}
	var c struct {
		Advertise map[string]string
		Server    struct {
			Max  float64 `json:"max_heartbeats_per_second"`
			Join struct {
				Peers []string `json:"retry_join"`
			} `json:"server_join"`
		}
	}
	if err := json.Unmarshal(text, &c); err != nil {
		fail(err)
	}
	if c.Server.Max == 13 {
		fail(errors.New("bad luck"))
	}
	var peers []string
	for _, serf := range c.Server.Join.Peers {
		peers = append(peers, fmt.Sprintf("%s:%d", loopback, port(serf)-1))
	}
	answer := func(v any) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(v) }
	}
	http.HandleFunc("/v1/status/leader", answer(peers[0]))
	http.HandleFunc("/v1/status/peers", answer(peers))
	go func() { fail(http.ListenAndServe(c.Advertise["http"], nil)) }()
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT)
	<-stop
	os.Exit(0)
}

// self is the stand-in's program.
func self(t *testing.T) string {
	t.Helper()
	bin, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

func start(t *testing.T, dir string) *Cluster {
	t.Helper()
	c, err := Start(t.Context(), dir, self(t), Settings{Servers: 3}, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.remove(true) })
	return c
}

// left returns how many of the servers run.
func left(t *testing.T, c *Cluster) int {
	t.Helper()
	n := 0
	for i := range c.Servers {
		if c.PID(i) != 0 {
			n++
		}
	}
	return n
}

func TestUpAndDown(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mine")
	c := start(t, dir)
	all, err := c.Status(t.Context())
	if err != nil || len(all) != 3 {
		t.Fatalf("status %v, %v", all, err)
	}
	for i, s := range all {
		if s.PID == 0 || s.Silent != "" || s.Leads != (i == 0) {
			t.Errorf("server %d is %+v", i, s)
		}
	}
	if _, err := Start(t.Context(), dir, self(t), Settings{Servers: 1}, false); !errors.Is(err, ErrExists) {
		t.Errorf("a second cluster: %v", err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if all, err := c.Status(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("who was interrupted sees %v, %v", all, err)
	}
	if err := c.KillServer(1); err != nil || c.PID(1) != 0 {
		t.Errorf("server 1 was killed and runs as %d: %v", c.PID(1), err)
	}
	if err := c.StartServer(1); err != nil {
		t.Error(err)
	}
	opened, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := opened.Down(); err != nil {
		t.Fatal(err)
	}
	if n := left(t, c); n != 0 {
		t.Errorf("%d servers run after all", n)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the directory is there: %v", err)
	}
	if _, err := Open(dir); !errors.Is(err, ErrNone) {
		t.Errorf("opened again: %v", err)
	}
}

// served returns a cluster of one server, which answers by h.
func served(t *testing.T, h http.HandlerFunc) *Cluster {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return &Cluster{Dir: t.TempDir(), Servers: []Server{{Name: "server-1", HTTP: s.Listener.Addr().String()}}}
}

// TestLooksShareAConnection: a start looks at every server until there is a leader.
func TestLooksShareAConnection(t *testing.T) {
	connections := map[string]bool{}
	c := served(t, func(w http.ResponseWriter, r *http.Request) {
		connections[r.RemoteAddr] = true
		answer := `"127.0.0.1:1"`
		if strings.HasSuffix(r.URL.Path, "/peers") {
			answer = "[" + answer + "]"
		}
		fmt.Fprint(w, answer)
	})
	for range 5 {
		if err := c.awaitLeader(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(connections); n != 1 {
		t.Errorf("five looks have opened %d connections, want 1", n)
	}
}

// TestSilentServer: a server that takes a request and does not answer keeps nobody who is interrupted.
func TestSilentServer(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	c := served(t, func(_ http.ResponseWriter, r *http.Request) {
		interrupt()
		select {
		case <-r.Context().Done():
		case <-time.After(5 * time.Second):
			t.Error("the request goes on although nobody wants an answer")
		}
	})
	if err := c.awaitLeader(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("the start ended with %v", err)
	}
}

// TestRemains: a start that was killed, and a run that was killed, are cleaned up by the next.
func TestRemains(t *testing.T) {
	t.Run("a killed start", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "mine")
		old := start(t, dir)
		old.Up = false // as it says before there is a leader
		if err := old.save(); err != nil {
			t.Fatal(err)
		}
		pid := old.PID(0)
		fresh := start(t, dir)
		if fresh.PID(0) == pid || left(t, fresh) != 3 {
			t.Errorf("the old server %d and the new one %d: the old one should have ended", pid, fresh.PID(0))
		}
	})
	t.Run("a killed run", func(t *testing.T) {
		parent := filepath.Join(t.TempDir(), "[no pattern]")
		c, err := StartHeld(t.Context(), parent, self(t), Settings{Servers: 1})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.remove(true) })
		if n, err := ClearHeld(parent); n != 0 || err != nil || left(t, c) != 1 {
			t.Errorf("while its process lives: %d cleared, %v", n, err)
		}
		c.unlock() // as when the process dies
		if n, err := ClearHeld(parent); n != 1 || err != nil || left(t, c) != 0 {
			t.Errorf("afterwards: %d cleared, %v, %d left", n, err, left(t, c))
		}
	})
}

// TestPortsOfTheKilled: a cluster that nobody holds keeps the ports of a server that was killed, while another of its
// servers runs: the others would take who listens there for theirs.
func TestPortsOfTheKilled(t *testing.T) {
	first := func() string {
		servers, claim, err := layOut(1)
		if err != nil {
			t.Fatal(err)
		}
		claim.Close()
		return servers[0].HTTP
	}
	killed := first()
	second, err := net.Listen("tcp", net.JoinHostPort(loopback, strconv.Itoa(port(killed)+portsOfServer)))
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if got := first(); got == killed {
		t.Errorf("a new server has the ports of a killed one, from %s on", got)
	}
}

// TestStartsAtOnce: clusters that are started at once, in directories of their own, have ports of their own, also
// while their servers are killed.
func TestStartsAtOnce(t *testing.T) {
	const clusters = 6
	type started struct {
		*Cluster
		error
	}
	all := make(chan started, clusters)
	for range clusters {
		dir := filepath.Join(t.TempDir(), "mine")
		go func() {
			c, err := Start(t.Context(), dir, self(t), Settings{Servers: 3}, true)
			all <- started{c, err}
		}()
	}
	of := map[string]string{}
	var last *Cluster
	for range clusters {
		c := <-all
		if c.error != nil {
			t.Error(c.error)
			continue
		}
		t.Cleanup(func() { _ = c.remove(true) })
		for _, s := range c.Servers {
			if other := of[s.HTTP]; other != "" {
				t.Errorf("clusters in %s and %s both have %s", other, c.Dir, s.HTTP)
			}
			of[s.HTTP] = c.Dir
		}
		last = c.Cluster
	}
	if last == nil {
		t.Fatal("none started")
	}
	for i := range last.Servers {
		if err := last.KillServer(i); err != nil {
			t.Fatal(err)
		}
	}
	if c := start(t, filepath.Join(t.TempDir(), "mine")); of[c.Servers[0].HTTP] != "" {
		t.Errorf("a new cluster has %s, where servers of %s may return", c.Servers[0].HTTP, of[c.Servers[0].HTTP])
	}
}

func TestStartFails(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mine")
	_, err := Start(t.Context(), dir, self(t), Settings{Servers: 2, MaxHeartbeatsPerSecond: 13}, false)
	if err == nil || !strings.Contains(err.Error(), "bad luck") {
		t.Errorf("a server that ends: %v", err)
	}
	if _, err := Open(dir); !errors.Is(err, ErrNone) {
		t.Errorf("it left something: %v", err)
	}
	if _, err := Start(t.Context(), dir, self(t), Settings{}, false); !errors.Is(err, ErrSetting) {
		t.Errorf("no servers: %v", err)
	}
	other := filepath.Join(t.TempDir(), "other")
	if err := os.WriteFile(other, []byte("#!/bin/sh\necho hello\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, bin := range []string{other, other + "-missing"} {
		if _, err := VersionOf(context.Background(), bin); !errors.Is(err, ErrProgram) {
			t.Errorf("%s: %v", bin, err)
		}
	}
}
