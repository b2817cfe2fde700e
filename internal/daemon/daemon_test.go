//go:build linux

package daemon

import (
	"fmt"
	"os/exec"
	"slices"
	"testing"
)

// TestStartedIsSeen: a process is among those that run as soon as Start returns, and one that ends at once does not
// hold Start up. Linux shows a process without arguments for an instant after it has started.
func TestStartedIsSeen(t *testing.T) {
	for i := range 200 {
		arg := fmt.Sprintf("%s-%d", t.Name(), i)
		cmd := exec.Command("sh", "-c", "read line", arg)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := Start(cmd); err != nil {
			t.Fatal(err)
		}
		seen := arguments(cmd.Process.Pid)
		_ = in.Close()
		if !slices.Contains(seen, arg) {
			t.Fatalf("process %d, the %dth, was started with %q and has the arguments %q", cmd.Process.Pid, i, arg, seen)
		}
	}
	if err := Start(exec.Command("true")); err != nil {
		t.Error(err)
	}
}
