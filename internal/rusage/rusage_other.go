//go:build !unix

package rusage

import "time"

// CPU is not known here.
func CPU() time.Duration { return 0 }

// PeakRSS is not known here.
func PeakRSS() uint64 { return 0 }
