//go:build unix

package rusage

import (
	"os"
	"runtime"
	"syscall"
	"time"
)

// CPU returns the processor time of all threads, including the garbage collector's. It
// returns zero if the system does not report it.
func CPU() time.Duration {
	u, ok := self()
	if !ok {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// PeakRSS returns the greatest resident memory so far, in bytes. It returns zero if the
// system does not report it.
func PeakRSS() uint64 {
	u, ok := self()
	if !ok {
		return 0
	}
	return bytes(u)
}

// PeakRSSOf is PeakRSS of a process that has ended.
func PeakRSSOf(state *os.ProcessState) uint64 {
	u, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return bytes(*u)
}

func bytes(u syscall.Rusage) uint64 {
	peak := uint64(u.Maxrss)
	if runtime.GOOS != "darwin" && runtime.GOOS != "ios" { // these systems count bytes, the others KiB
		peak *= 1024
	}
	return peak
}

func self() (u syscall.Rusage, ok bool) {
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return u, err == nil
}
