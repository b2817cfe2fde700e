package rusage

import (
	"os"
	"syscall"
	"time"
	"unsafe"
)

// CPU returns the processor time of all threads, including the garbage collector's. It
// returns zero if the system does not report it.
func CPU() time.Duration {
	var created, exited, kernel, user syscall.Filetime
	self, err := syscall.GetCurrentProcess()
	if err == nil {
		err = syscall.GetProcessTimes(self, &created, &exited, &kernel, &user)
	}
	if err != nil {
		return 0
	}
	return duration(kernel) + duration(user)
}

// duration returns a number of 100 ns. The method of Filetime is for dates.
func duration(t syscall.Filetime) time.Duration {
	return time.Duration(int64(t.HighDateTime)<<32|int64(t.LowDateTime)) * 100
}

var memoryInfo = syscall.NewLazyDLL("kernel32.dll").NewProc("K32GetProcessMemoryInfo")

// memoryCounters is PROCESS_MEMORY_COUNTERS.
type memoryCounters struct {
	size, pageFaults                 uint32
	peakWorkingSet, workingSet       uintptr
	peakPagedPool, pagedPool         uintptr
	peakNonPagedPool, nonPagedPool   uintptr
	pagefileUsage, peakPagefileUsage uintptr
}

// PeakRSS returns the greatest resident memory so far, in bytes. It returns zero if the
// system does not report it.
func PeakRSS() uint64 {
	self, err := syscall.GetCurrentProcess()
	if err != nil || memoryInfo.Find() != nil {
		return 0
	}
	m := memoryCounters{size: uint32(unsafe.Sizeof(memoryCounters{}))}
	if ok, _, _ := memoryInfo.Call(uintptr(self), uintptr(unsafe.Pointer(&m)), uintptr(m.size)); ok == 0 {
		return 0
	}
	return uint64(m.peakWorkingSet)
}

// PeakRSSOf is PeakRSS of a process that has ended, of which Windows tells none.
func PeakRSSOf(*os.ProcessState) uint64 { return 0 }
