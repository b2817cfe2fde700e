//go:build programs

package rebuilt

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestGateSeesABrokenPolicy expects the gate to fail once one line of the shedding policy is broken,
// and only for the shedding broker.
func TestGateSeesABrokenPolicy(t *testing.T) {
	t.Parallel()
	const exitOK, exitVerdict = 0, 3
	simctl, base := program(t), filepath.Join(t.TempDir(), "base.json")
	gate := func(env []string, args ...string) (string, int) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), simctl, append([]string{"gate", "heartbeat-storm", "--quiet", "--baseline", base}, args...)...)
		cmd.Env = append(cmd.Environ(), env...)
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}

	if out, code := gate(nil, "--var", "nodes=40", "--update"); code != exitOK {
		t.Fatalf("writing the baseline: exit code %d\n%s", code, out)
	}
	if out, code := gate(nil); code != exitOK {
		t.Fatalf("the gate is red without a reason: exit code %d\n%s", code, out)
	}
	out, code := gate([]string{breaks + "=yes"})
	if code != exitVerdict {
		t.Fatalf("the policy sheds nothing, and the gate's exit code is %d, want %d\n%s", code, exitVerdict, out)
	}
	for _, want := range []string{"✗ shedding: phases.drain.raft_entries: ", "✗ shedding: phases.drain.evals_canceled: 0 evaluations, want within 5% of"} {
		if !strings.Contains(out, want) {
			t.Errorf("the gate does not say %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, "✗ legacy") {
		t.Errorf("the old broker did not change, but failed:\n%s", out)
	}
}
