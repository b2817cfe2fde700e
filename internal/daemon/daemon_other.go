//go:build !linux

package daemon

import "os/exec"

func running(string) ([]int, error) { return nil, errNoProc }

func start(*exec.Cmd) error { return errNoProc }

func end(string, bool) error { return errNoProc }
