// Package daemon starts, finds and ends processes that outlive the one that started them. An
// argument on their command lines tells them from others. It needs Linux: elsewhere every
// function returns errNoProc.
package daemon

import (
	"errors"
	"os/exec"
)

// errNoProc says that the table of processes cannot be read here.
var errNoProc = errors.New("the processes of this machine are not to be seen in /proc: clusters on loopback need Linux")

// Running returns the processes that have an argument, but for those that are dead and not yet
// waited for.
func Running(arg string) ([]int, error) { return running(arg) }

// Start starts a process in a session of its own, so that an interrupt of the terminal does not
// reach it. When it returns, Running finds the process, or it has ended.
func Start(cmd *exec.Cmd) error { return start(cmd) }

// End ends the processes that have an argument: it interrupts them, and kills those that have not
// ended after three seconds, or all at once if hard is set. The error is for one that does not end.
func End(arg string, hard bool) error { return end(arg, hard) }
