package daemon

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// procDir has a directory for each process.
const procDir = "/proc"

func running(arg string) ([]int, error) {
	dirs, err := filepath.Glob(procDir + "/[0-9]*")
	if err != nil || len(dirs) == 0 {
		return nil, errNoProc
	}
	var pids []int
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err == nil && slices.Contains(arguments(pid), arg) {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// arguments returns the command line of a process. One that has ended has none, nor has one whose program the kernel
// is still loading.
func arguments(pid int) []string {
	line, err := os.ReadFile(filepath.Join(procDir, strconv.Itoa(pid), "cmdline"))
	if err != nil || len(line) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")
}

// lookEvery is how long start waits between two looks at a process that is not to be seen yet.
const lookEvery = 100 * time.Microsecond

func start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // otherwise it stays in the table when it ends
	}()
	// The kernel says that a program is executed before it has set its arguments.
	for len(arguments(cmd.Process.Pid)) == 0 {
		select {
		case <-ended:
			return nil
		case <-time.After(lookEvery):
		}
	}
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
