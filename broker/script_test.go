package broker_test

import (
	"path/filepath"
	"testing"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/broker/brokertest"
)

// TestScripts runs every transcript under the old and the new broker side by side.
func TestScripts(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scripts in testdata: %v", err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			brokertest.RunScript(t, path, broker.Legacy(), broker.Shedding())
		})
	}
}
