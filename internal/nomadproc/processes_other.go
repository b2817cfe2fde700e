//go:build !linux

package nomadproc

func running(string) ([]int, error) { return nil, errNoProc }

func (Server) start(string, string) error { return errNoProc }

func end(string, bool) error { return errNoProc }
