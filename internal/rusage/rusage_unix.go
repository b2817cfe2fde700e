//go:build unix

package rusage

import (
	"runtime"
	"syscall"
	"time"
)

// CPU returns the processor time of all threads, the garbage collector's included; zero
// where the system does not tell.
func CPU() time.Duration {
	u, ok := self()
	if !ok {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// PeakRSS returns the most memory, in bytes, that was resident at any time; zero where the
// system does not tell.
func PeakRSS() uint64 {
	u, ok := self()
	if !ok {
		return 0
	}
	peak := uint64(u.Maxrss)
	if runtime.GOOS != "darwin" && runtime.GOOS != "ios" { // which count in bytes
		peak *= 1024
	}
	return peak
}

func self() (u syscall.Rusage, ok bool) {
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return u, err == nil
}
