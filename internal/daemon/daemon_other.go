//go:build !linux

package daemon

import "os/exec"

func running(string) ([]int, error) { return nil, ErrNoProc }

func start(*exec.Cmd) error { return ErrNoProc }

func end(string, bool) error { return ErrNoProc }
