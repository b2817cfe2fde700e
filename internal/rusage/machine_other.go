//go:build !linux

package rusage

import "time"

// Machine returns zero: only Linux reports what the processors of a machine have worked.
func Machine() (busy, stolen time.Duration, processors int) { return 0, 0, 0 }

// ReadTime returns zero: only Linux reports the processor time of a thread.
func ReadTime() time.Duration { return 0 }
