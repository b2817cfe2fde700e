//go:build !unix

package bubble

import "time"

// processorTime is not known here: nothing counts as computing.
func processorTime() time.Duration { return 0 }
