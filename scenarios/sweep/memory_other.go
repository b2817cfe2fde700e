//go:build !linux

package sweep

// freeMemory returns the bytes that processes can take without any being swapped out.
func freeMemory() int64 { return defaultMemory }
