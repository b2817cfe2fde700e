//go:build unix

package main

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/simctl/simctl/internal/nomadrpc"
)

// patientServer answers clients as a server does that has nothing for them to do.
func patientServer(t *testing.T) string {
	t.Helper()
	m := new(nomadrpc.Methods)
	nomadrpc.Handle(m, "Status.Leader", func(context.Context, *nomadrpc.GenericRequest) (*string, error) { return new("10.0.0.1:4647"), nil })
	nomadrpc.Handle(m, "Node.Register", func(context.Context, *nomadrpc.NodeRegisterRequest) (*nomadrpc.NodeUpdateResponse, error) {
		return &nomadrpc.NodeUpdateResponse{HeartbeatTTL: time.Minute}, nil
	})
	nomadrpc.Handle(m, "Node.UpdateStatus", func(context.Context, *nomadrpc.NodeUpdateStatusRequest) (*nomadrpc.NodeUpdateResponse, error) {
		return &nomadrpc.NodeUpdateResponse{HeartbeatTTL: time.Minute}, nil
	})
	nomadrpc.Handle(m, "Node.GetClientAllocs", func(ctx context.Context, req *nomadrpc.NodeSpecificRequest) (*nomadrpc.NodeClientAllocsResponse, error) {
		if req.MinQueryIndex > 0 {
			<-ctx.Done()
		}
		return &nomadrpc.NodeClientAllocsResponse{QueryMeta: nomadrpc.QueryMeta{Index: 1}}, nil
	})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := nomadrpc.NewServer(nomadrpc.ServerConfig{Methods: m})
	done := make(chan error, 1)
	go func() { done <- s.Serve(ln) }()
	t.Cleanup(func() {
		s.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return ln.Addr().String()
}

// TestNodesEndWell ends a fleet in every way that users do: it says what it did, and that is
// no failure.
func TestNodesEndWell(t *testing.T) {
	t.Parallel()
	address := patientServer(t)
	for name, signal := range map[string]syscall.Signal{"ctrl-c": syscall.SIGINT, "terminated": syscall.SIGTERM, "hangup": syscall.SIGHUP, "by itself": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := []string{"nodes", "--server", address, "--count", "30", "--register-over", "10ms", "--connections", "2"}
			if signal == 0 {
				args = append(args, "--for", "3s")
			}
			cmd := exec.Command("simctl", args...)
			var stdout bytes.Buffer
			cmd.Stdout = &stdout
			said, err := signalled(t, cmd, signal, func(string) bool { return true })
			if err != nil {
				t.Errorf("ended with %v; it said %q", err, said)
			}
			if len(said) == 0 || !strings.Contains(said[0], " of 30 clients ready") {
				t.Errorf("it said %q", said)
			}
			if !strings.HasPrefix(stdout.String(), "30 clients for ") || !strings.Contains(stdout.String(), "calls: 30 registrations (0 failed)") {
				t.Errorf("the summary is %q", &stdout)
			}
		})
	}
}

// TestNodesWithBehaviours: half of the clients of a scenario fall silent once all are ready.
func TestNodesWithBehaviours(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "half.hcl")
	if err := os.WriteFile(file, []byte(`
title = "half of the clients leave"
variable "nodes" {
  type    = "integer"
  default = 4
}
fleet {
  register_stagger = "10ms"
  group "clients" { nodes = var.nodes }
}
behaviour "stop" "leave" {
  share = 0.5
  after = "100ms"
}
phase "all" {
  event "start_clients" {}
  event "begin" { behaviour = "leave" }
  until "elapsed" { for = "1m" }
}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("simctl", "nodes", "--server", patientServer(t), "--behaviour", file, "--var", "nodes=40")
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	said, err := signalled(t, cmd, syscall.SIGINT, func(line string) bool { return strings.HasSuffix(line, "; 20 silent") })
	if err != nil || !strings.Contains(stdout.String(), " 20 of them ready at the end, 20 silent") {
		t.Errorf("%v: %q %s", err, said, &stdout)
	}
}
