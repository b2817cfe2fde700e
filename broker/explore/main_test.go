package explore_test

import (
	"runtime/debug"
	"testing"
)

// TestMain lets searches keep more garbage: they end soon.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	m.Run()
}
