package process

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
)

// profileVar names a folder in which every child process leaves a CPU profile of its run.
const profileVar = "SIMCTL_CPUPROFILE"

// ProfileCPU starts a profile of the run of that name when the environment asks for one. stop
// ends it.
func ProfileCPU(run string) (stop func() error, err error) {
	dir := os.Getenv(profileVar)
	if dir == "" {
		return func() error { return nil }, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("%s=%q must name a folder that can be made: %w", profileVar, dir, err)
	}
	name := fmt.Sprintf("%s-%d.pprof", run, os.Getpid())
	f, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		return nil, fmt.Errorf("%s=%q must name a folder that can be written to: %w", profileVar, dir, err)
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, fmt.Errorf("profile the run into %s: %w", f.Name(), err)
	}
	return func() error {
		pprof.StopCPUProfile()
		return f.Close()
	}, nil
}
