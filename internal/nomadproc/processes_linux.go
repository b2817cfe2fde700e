package nomadproc

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

// procDir has a directory for each process, as on Linux.
const procDir = "/proc"

// running returns the processes that have the configuration file on their command line, but for
// those that are dead and not yet waited for.
func running(config string) ([]int, error) {
	dirs, err := filepath.Glob(procDir + "/[0-9]*")
	if err != nil || len(dirs) == 0 {
		return nil, errNoProc
	}
	var pids []int
	for _, dir := range dirs {
		line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil || !slices.ContainsFunc(bytes.Split(line, []byte{0}), func(arg []byte) bool { return string(arg) == configFlag+config }) {
			continue // it has ended meanwhile, or is another's
		}
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// start starts a server in a session of its own, so that an interrupt of the terminal does not
// reach it.
func (s Server) start(bin, dir string) error {
	log, err := os.OpenFile(s.log(dir), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(bin, "agent", configFlag+s.config(dir))
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir(dir), log, log
	cmd.Env = slices.DeleteFunc(os.Environ(), func(e string) bool { return bytes.HasPrefix([]byte(e), []byte("NOMAD_")) })
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", bin, err)
	}
	go func() { _ = cmd.Wait() }() // otherwise it stays in the table when it ends
	return nil
}

// How long a server may take to end after an interrupt, and after it was killed.
const (
	politeFor = 3 * time.Second
	killFor   = 10 * time.Second
)

// end ends the processes of a configuration: kill at once if hard is set.
func end(config string, hard bool) error {
	began := time.Now()
	for sig := syscall.SIGINT; ; {
		pids, err := running(config)
		if err != nil || len(pids) == 0 {
			return err
		}
		took := time.Since(began)
		if hard || took > politeFor {
			sig = syscall.SIGKILL
		}
		if took > politeFor+killFor {
			return fmt.Errorf("process %d with %s does not end", pids[0], config)
		}
		if sig == syscall.SIGKILL || took < pollEvery {
			for _, pid := range pids {
				_ = syscall.Kill(pid, sig) // it may have ended
			}
		}
		time.Sleep(pollEvery)
	}
}
