//go:build !unix

package scenarios

import "time"

// usage is not known here; a Result then says zero.
func usage() (cpu time.Duration, peakRSS uint64) { return 0, 0 }
