//go:build unix

package scenarios

import (
	"runtime"
	"syscall"
	"time"
)

// usage returns the CPU time and the largest memory of this process so far.
func usage() (cpu time.Duration, peakRSS uint64) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, 0
	}
	peakRSS = uint64(u.Maxrss)
	if runtime.GOOS != "darwin" && runtime.GOOS != "ios" { // which count in bytes
		peakRSS *= 1024
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), peakRSS
}
