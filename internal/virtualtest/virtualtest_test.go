package virtualtest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestBounds runs tests that hang, in a process of their own: they name themselves and what
// hangs.
func TestBounds(t *testing.T) {
	if os.Getenv("VIRTUALTEST_HANGS") != "" {
		Run(t, time.Hour, func(*testing.T) {
			for {
				time.Sleep(time.Minute)
			}
		})
	}
	cmd := exec.Command(os.Args[0], "-test.run=TestBounds")
	cmd.Env = append(os.Environ(), "VIRTUALTEST_HANGS=1")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "TestBounds: more than 1h0m0s of virtual time passed") || !strings.Contains(string(out), "time.Sleep") {
		t.Errorf("a test that never ends: %v\n%.3000s", err, out)
	}
}

// TestInTime: a test and its cleanups have all the time they asked for.
func TestInTime(t *testing.T) {
	Run(t, time.Hour, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(30 * time.Minute) })
		time.Sleep(30 * time.Minute)
	})
}
