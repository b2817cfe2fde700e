package raftnode

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain verifies that no test leaves a goroutine behind, in a bubble or outside.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
