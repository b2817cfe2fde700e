package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// stall makes the disk seem to stand still, until end is called, to the server that the lab talks to: strace holds up each
// of the server's calls that wait for the disk. Everything else in the server goes on.
func (l *lab) stall() (end func()) {
	pid := strconv.Itoa(l.PID(l.at))
	cmd := exec.CommandContext(l.ctx, "strace", "-f", "-o", os.DevNull, "-e", "trace=fdatasync,fsync",
		"-e", "inject=fdatasync,fsync:delay_enter=600000000", "-p", pid) // microseconds
	if err := cmd.Start(); err != nil {
		check(fmt.Errorf("a disk is made to stand still by strace: %w", err))
	}
	l.await("a traced server", 10*time.Second, func() bool {
		status, err := os.ReadFile(filepath.Join("/proc", pid, "status"))
		check(err)
		return !strings.Contains(string(status), "TracerPid:\t0\n")
	})
	return func() {
		_ = cmd.Process.Signal(os.Interrupt) // on which it lets go of the server
		_ = cmd.Wait()
	}
}

// logged returns the lines of the log of the server that is talked to that have a text in them.
func (l *lab) logged(text string) (lines []string) {
	log, err := os.ReadFile(filepath.Join(l.Dir, l.Servers[l.at].Name, "log"))
	check(err)
	for line := range strings.Lines(string(log)) {
		if strings.Contains(line, text) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// term is the server's term of Raft.
func (l *lab) term() string {
	self, err := l.api.Agent().Self()
	check(err)
	return self.Stats["raft"]["term"]
}

// droppedBatch: the leader's disk stands still for longer than a write waits for its turn, and meanwhile the reaper has
// a batch to write.
func droppedBatch(l *lab) {
	l.dial(l.leads())
	l.register("other", "batch", 50)
	l.backlog("many", 3000)
	w := l.take("service")
	l.say("pending in the state: %d; %s leads in term %s", l.pending(), l.Servers[l.at].Name, l.term())
	end := l.stall()
	go func() { _, _, _ = l.api.Jobs().ForceEvaluate("other", nil) }() // its write holds up those after it
	l.wait(2 * time.Second)
	l.end(w, ack)
	failed := func() []string { return l.logged("eval cancel failed") }
	took := l.await("a batch whose write failed", 2*time.Minute, func() bool { return len(failed()) > 0 })
	end()
	l.say("%.0f s later, in the leader's log: %s", took.Seconds(), failed()[0])
	l.await("a leader whose disk goes on", time.Minute, func() bool { return l.gauge("broker_total_cancelable") == 0 })
	l.wait(20 * time.Second) // four ticks of the reaper
	l.say("afterwards %s leads in term %s; pending in the state: %d; in its broker: %.0f", l.Servers[l.leads()].Name, l.term(), l.pending(), l.waiting())
	l.end(l.take("service"), ack) // the one that was kept
	l.wait(20 * time.Second)
	l.say("after another ack: pending in the state: %d; in the leader's broker: %.0f", l.pending(), l.waiting())
}
