package virtualtest

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestBounds runs tests that hang, in a process of their own: they name themselves and what
// hangs.
func TestBounds(t *testing.T) {
	hangs := map[string]func(){
		"more than 1h0m0s of virtual time passed": func() { time.Sleep(time.Minute) },
		"virtual time stood still for 300ms":      runtime.Gosched,
	}
	if again := hangs[os.Getenv("VIRTUALTEST_HANGS")]; again != nil {
		still = 300 * time.Millisecond
		Run(t, time.Hour, func(*testing.T) { goOn(again) })
	}
	for how := range hangs {
		cmd := exec.Command(os.Args[0], "-test.run=TestBounds")
		cmd.Env = append(os.Environ(), "VIRTUALTEST_HANGS="+how)
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "TestBounds: "+how) || !strings.Contains(string(out), "virtualtest.goOn") {
			t.Errorf("%s: %v\n%.3000s", how, err, out)
		}
	}
}

// goOn is named by what a test that hangs prints.
func goOn(again func()) {
	for {
		again()
	}
}

// TestInTime: a test and its cleanups have all the time they asked for.
func TestInTime(t *testing.T) {
	Run(t, time.Hour, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(30 * time.Minute) })
		time.Sleep(30 * time.Minute)
	})
}
