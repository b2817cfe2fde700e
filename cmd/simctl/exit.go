package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/mattn/go-isatty"
)

// Exit codes. docs/cli.md promises them to scripts.
const (
	exitOK      = 0
	exitFailed  = 1 // the run failed or was interrupted
	exitUsage   = 2 // bad usage or bad input: nothing was run, nothing was written
	exitVerdict = 3 // the run went through, but an invariant or a threshold failed
	exitUnread  = 128 + int(syscall.SIGPIPE)
)

// heard returns a writer to stdout or stderr that ends what goes on when a pipe's reader is gone, as head is after
// its lines. Go would end the process at once, and leave what it has half written.
func heard(w io.Writer, end context.CancelCauseFunc) io.Writer {
	if f, ok := w.(*os.File); !ok || isatty.IsTerminal(f.Fd()) {
		return w
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // which nobody reads
	return &pipe{w, end}
}

type pipe struct {
	io.Writer
	end context.CancelCauseFunc
}

func (p *pipe) Write(text []byte) (int, error) {
	n, err := p.Writer.Write(text)
	if errors.Is(err, syscall.EPIPE) {
		p.end(err)
	}
	return n, err
}

// exitError is an error that carries the exit code. Any other error of a command exits
// with exitFailed.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// usageErrorf returns an error for input that the user can correct. Its text is one line
// that names what was given and what is allowed.
func usageErrorf(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// interruptedError returns the error of a command that wrote nothing when its context ended.
func interruptedError(ctx context.Context) error {
	return fmt.Errorf("interrupted (%w): nothing was written", context.Cause(ctx))
}

// verdictErrorf returns an error for a run that completed but failed a check.
func verdictErrorf(format string, args ...any) error {
	return &exitError{exitVerdict, fmt.Errorf(format, args...)}
}

// exitCode returns the exit code of the process after err.
func exitCode(err error) int {
	if err == nil {
		return exitOK
	}
	if e, ok := errors.AsType[*exitError](err); ok {
		return e.code
	}
	return exitFailed
}
