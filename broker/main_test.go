package broker

import (
	"runtime/debug"
	"testing"
)

// TestMain lets random sequences leave more garbage: they end soon.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	m.Run()
}
