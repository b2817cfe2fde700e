package daemon

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// procDir has a directory for each process.
const procDir = "/proc"

func running(arg string) ([]int, error) {
	dirs, err := filepath.Glob(procDir + "/[0-9]*")
	if err != nil || len(dirs) == 0 {
		return nil, ErrNoProc
	}
	var pids []int
	for _, dir := range dirs {
		line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil || !slices.ContainsFunc(bytes.Split(line, []byte{0}), func(of []byte) bool { return string(of) == arg }) {
			continue // it has ended meanwhile, or is another's
		}
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

func start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	go func() { _ = cmd.Wait() }() // otherwise it stays in the table when it ends
	return nil
}

// How long a process may take to end after an interrupt, and after it was killed, and how often it
// is looked at.
const (
	politeFor = 3 * time.Second
	killFor   = 10 * time.Second
	pollEvery = 50 * time.Millisecond
)

func end(arg string, hard bool) error {
	began := time.Now()
	for sig := syscall.SIGINT; ; {
		pids, err := running(arg)
		if err != nil || len(pids) == 0 {
			return err
		}
		took := time.Since(began)
		if hard || took > politeFor {
			sig = syscall.SIGKILL
		}
		if took > politeFor+killFor {
			return fmt.Errorf("process %d with %s does not end", pids[0], arg)
		}
		if sig == syscall.SIGKILL || took < pollEvery {
			for _, pid := range pids {
				_ = syscall.Kill(pid, sig) // it may have ended
			}
		}
		time.Sleep(pollEvery)
	}
}
