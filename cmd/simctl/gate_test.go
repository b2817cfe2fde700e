package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/simctl/simctl/metrics"
)

// TestGateSeesABrokenPolicy breaks one line of the shedding policy, builds the program from
// that, and expects the gate to fail, and only for the shedding broker.
func TestGateSeesABrokenPolicy(t *testing.T) {
	dir := t.TempDir()
	gate := func(program string, args ...string) (string, int) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program, append([]string{"gate", "heartbeat-storm", "--quiet", "--baseline", filepath.Join(dir, "base.json")}, args...)...)
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}

	if out, code := gate("simctl", "--var", "nodes=40", "--update"); code != exitOK {
		t.Fatalf("writing the baseline: exit code %d\n%s", code, out)
	}
	if out, code := gate("simctl"); code != exitOK {
		t.Fatalf("the gate is red without a reason: exit code %d\n%s", code, out)
	}

	broken := filepath.Join(dir, "broken")
	build := exec.CommandContext(t.Context(), "go", "build", "-pgo=off", "-o", broken, "-overlay", brokenPolicy(t, dir), ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the program with a broken policy: %v\n%s", err, out)
	}
	out, code := gate(broken)
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

// brokenPolicy returns an overlay for the go command that changes one line of
// broker/policy_shedding.go, so that the shedding policy keeps everything.
func brokenPolicy(t *testing.T, dir string) string {
	t.Helper()
	const line, broken = "return pending.KeepBest()", "return nil"
	source, err := filepath.Abs("../../broker/policy_shedding.go")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), line); n != 1 {
		t.Fatalf("%s has %q %d times, want once: it is the line that this test breaks", source, line, n)
	}
	changed := filepath.Join(dir, "policy_shedding.go")
	if err := os.WriteFile(changed, []byte(strings.Replace(string(text), line, broken, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {source: changed}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(path, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestGateNamesVersions: a failed gate says that another version wrote the baseline.
func TestGateNamesVersions(t *testing.T) {
	run := func(version string, ok bool) []*metrics.Result {
		return []*metrics.Result{{Run: metrics.Run{Broker: "legacy", Version: version}, Invariants: []metrics.Invariant{{Name: "holds", OK: ok}}}}
	}
	old := &metrics.Baseline{Runs: run("v0.1.0", true)}
	for _, c := range []struct {
		results []*metrics.Result
		base    *metrics.Baseline
		want    string
	}{
		{run("v0.2.0", true), old, ""},
		{run("v0.1.0", false), old, "1 of 1 check failed; if the change is intended"},
		{run("v0.1.0", false), nil, "1 of 1 check failed; if the change is intended"},
		{run("v0.2.0", false), old, "1 of 1 check failed (simctl v0.1.0 wrote the baseline, this is v0.2.0, which may simulate differently); if"},
	} {
		err := gateVerdict(c.results, c.base, "b.json")
		if (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.base, err, c.want)
		}
	}
}
