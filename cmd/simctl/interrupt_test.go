//go:build unix

package main

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestInterrupt interrupts a run in both ways that users do: by a signal to the parent
// alone, and by Ctrl-C in a terminal, which also reaches the children.
func TestInterrupt(t *testing.T) {
	real, err := filepath.Abs("../../testdata/validation/real/1.4.2-500-1.json")
	if err != nil {
		t.Fatal(err)
	}
	scenario := []string{"scenario", "heartbeat-storm", "--nodes", "5000", "--out", "out"}
	for _, c := range []struct {
		name   string
		args   []string
		signal syscall.Signal
		group  bool // to everything in the process group
		want   string
	}{
		{"terminated", scenario, syscall.SIGTERM, false, "simctl: interrupted (terminated signal received): nothing was written"},
		{"hung up", scenario, syscall.SIGHUP, true, "simctl: interrupted (hangup signal received): nothing was written"},
		{"ctrl-c", scenario, syscall.SIGINT, true, "simctl: interrupted (interrupt signal received): nothing was written"},
		{"validate", []string{"validate", real, "--out", "out"}, syscall.SIGTERM, false, "simctl: interrupted (terminated signal received): nothing was written"},
		{"plan", []string{"plan", "--check-nodes", "5000"}, syscall.SIGINT, true, "simctl: interrupted (interrupt signal received): nothing was written"},
	} {
		t.Run(c.name, func(t *testing.T) {
			// What nohup and shells ignore in the background, programs that they start ignore. Who is told of a
			// signal does not pass that on.
			told := make(chan os.Signal, 1)
			signal.Notify(told, c.signal)
			defer signal.Stop(told)
			cmd := exec.Command("simctl", c.args...)
			cmd.Dir = t.TempDir()
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			stderr, err := cmd.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			target := cmd.Process.Pid
			if c.group {
				target = -target
			}
			// Both runs have begun once each has printed its first line.
			var said []string
			begun := 0
			for lines := bufio.NewScanner(stderr); lines.Scan(); {
				said = append(said, lines.Text())
				if strings.Contains(lines.Text(), " register at ") {
					begun++
				}
				if begun == 2 {
					begun++
					if err := syscall.Kill(target, c.signal); err != nil {
						t.Fatal(err)
					}
				}
			}

			var exit *exec.ExitError
			if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitFailed {
				t.Errorf("ended with %v, want exit status %d", err, exitFailed)
			}
			if last := said[len(said)-1]; last != c.want {
				t.Errorf("the last line on stderr is %q, want %q; all of it:\n%s", last, c.want, strings.Join(said, "\n"))
			}
			if left := tree(t, cmd.Dir); len(left) > 0 {
				t.Errorf("it left %v", left)
			}
			if err := syscall.Kill(-cmd.Process.Pid, 0); !errors.Is(err, syscall.ESRCH) {
				t.Errorf("a child is still there (%v)", err)
				_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			}
		})
	}
}

// TestInterruptedWhileReading: Ctrl-C ends what waits for the rest of its stdin.
func TestInterruptedWhileReading(t *testing.T) {
	for _, args := range []string{"report -", "digest -", "scenario run -", "scenario fmt -", "plan --from -", "sweep - --vary nodes=5"} {
		cmd := exec.Command("simctl", strings.Fields(args)...)
		cmd.Dir = t.TempDir()
		var said strings.Builder
		cmd.Stderr = &said
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := in.Write(make([]byte, 1<<17)); err != nil { // more than a pipe holds: it reads
			t.Fatal(err)
		}
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		hung := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
		var exit *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitFailed {
			t.Errorf("simctl %s ended with %v, want exit status %d", args, err, exitFailed)
		}
		hung.Stop()
		if want := "simctl: interrupted (terminated signal received): nothing was written\n"; said.String() != want {
			t.Errorf("simctl %s said %q, want %q", args, said.String(), want)
		}
	}
}

// TestReaderGone: when nobody reads what a run says, as head after its lines, it ends as if it were interrupted.
func TestReaderGone(t *testing.T) {
	for args, read := range map[string]func(*exec.Cmd) (io.ReadCloser, error){
		"scenario heartbeat-storm --nodes 5000 --out out":   (*exec.Cmd).StderrPipe,
		"sweep heartbeat-storm --vary nodes=5000 --out out": (*exec.Cmd).StderrPipe,
		"man --help": (*exec.Cmd).StdoutPipe,
	} {
		cmd := exec.Command("simctl", strings.Fields(args)...)
		cmd.Dir = t.TempDir()
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		pipe, err := read(cmd)
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if err := pipe.Close(); err != nil {
			t.Fatal(err)
		}
		var exit *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitUnread {
			t.Errorf("simctl %s ended with %v, want exit status %d", args, err, exitUnread)
		}
		if left := tree(t, cmd.Dir); len(left) > 0 {
			t.Errorf("simctl %s left %v", args, left)
		}
		if err := syscall.Kill(-cmd.Process.Pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("simctl %s left a child (%v)", args, err)
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		}
	}
}

// TestRunning: a process of another user runs as well.
func TestRunning(t *testing.T) {
	if !running(1) {
		t.Error("process 1 does not run")
	}
}
