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
	"github.com/spf13/cobra"
)

// Exit codes. docs/cli.md promises them to scripts.
const (
	exitOK      = 0
	exitFailed  = 1 // the run failed or was interrupted
	exitUsage   = 2 // bad usage or bad input: nothing was run, nothing was written
	exitVerdict = 3 // the run went through, but an invariant or a threshold failed
	exitUnread  = 128 + int(syscall.SIGPIPE)
)

// heard returns a writer to stdout or stderr which cancels the command when the reader of a pipe is gone, as head is after
// its lines. Otherwise Go would end the process at once, and leave files half written.
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

// unreadError says that stdin was left, since the command had been interrupted.
type unreadError struct{ error }

// stdin returns a reader of the command's stdin that ends with the command's context. By itself a read of a
// terminal, or of a pipe that nobody fills, goes on after Ctrl-C.
func stdin(cmd *cobra.Command) io.Reader { return &untilEnd{cmd.Context(), cmd.InOrStdin()} }

type untilEnd struct {
	ctx context.Context
	io.Reader
}

func (r *untilEnd) Read(buf []byte) (int, error) {
	type answer struct {
		text []byte
		err  error
	}
	read := make(chan answer, 1)
	go func() {
		text := make([]byte, len(buf)) // not into buf: after an interrupt the caller has that back, and the read goes on
		n, err := r.Reader.Read(text)
		read <- answer{text[:n], err}
	}()
	select {
	case a := <-read:
		return copy(buf, a.text), a.err
	case <-r.ctx.Done():
		return 0, &unreadError{interruptedError(r.ctx)}
	}
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
