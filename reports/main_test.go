package reports

import (
	"runtime/debug"
	"testing"
)

// TestMain lets charts leave more garbage: little else lives.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	m.Run()
}
