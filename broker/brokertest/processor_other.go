//go:build !unix

package brokertest

import "time"

// processorTime is not told here.
func processorTime() time.Duration { return 0 }
