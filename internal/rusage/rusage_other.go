//go:build !unix

package rusage

import (
	"os"
	"time"
)

// CPU returns zero: this system does not report it.
func CPU() time.Duration { return 0 }

// PeakRSS returns zero: this system does not report it.
func PeakRSS() uint64 { return 0 }

func PeakRSSOf(*os.ProcessState) uint64 { return 0 }
