//go:build !unix

package rusage

import "time"

// CPU returns zero: this system does not report it.
func CPU() time.Duration { return 0 }

// PeakRSS returns zero: this system does not report it.
func PeakRSS() uint64 { return 0 }
