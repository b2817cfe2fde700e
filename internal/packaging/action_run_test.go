//go:build programs

package packaging

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestAction runs the steps of action.yml against a baseline that holds, and against one that
// does not.
func TestAction(t *testing.T) {
	var a action
	load(t, "../../action.yml", &a)
	r := &runner{t: t, dir: t.TempDir(), path: fakeGo(t, "v0.2.0") + string(filepath.ListSeparator) + os.Getenv("PATH"), context: map[string]string{"github.action_ref": "v0.2.0", "github.action_repository": "simctl/simctl"}}
	for name, input := range a.Inputs {
		r.context["inputs."+name] = input.Default
	}
	r.context["inputs.baseline"], r.context["inputs.args"], r.context["inputs.out"] = "base.json", "--all", "kept/gate"

	var gate, upload step
	for _, s := range a.Runs.Steps {
		switch {
		case s.ID == "gate":
			gate = s
		case strings.HasPrefix(s.Uses, "actions/upload-artifact@"):
			upload = s
		case s.Run != "":
			if code := r.step(s); code != 0 {
				t.Fatalf("step %q: exit code %d\n%s", s.Name, code, r.output)
			}
		}
	}
	if code := r.step(step{Shell: "bash", Run: "simctl gate heartbeat-storm --var nodes=40 --quiet --update --baseline base.json"}); code != 0 {
		t.Fatalf("write the baseline: exit code %d\n%s", code, r.output)
	}

	r.output = ""
	if code := r.step(gate); code != 0 || !strings.Contains(r.output, "✓") {
		t.Fatalf("the gate fails without a reason: exit code %d\n%s", code, r.output)
	}
	if upload.If != "always()" || r.expand(upload.With["name"]) != "kept-gate" || r.expand(upload.With["path"]) != "kept/gate" {
		t.Errorf("the upload is %+v", upload)
	}
	for _, name := range []string{"legacy.json", "shedding.json", "report.html", "junit.xml"} {
		if info, err := os.Stat(filepath.Join(r.dir, "kept", "gate", name)); err != nil || info.Size() == 0 {
			t.Errorf("the gate left no %s (%v)", name, err)
		}
	}
	if got := r.context["steps.gate.outputs.junit"]; got != "kept/gate/junit.xml" {
		t.Errorf("the output junit is %q", got)
	}

	text, err := os.ReadFile(filepath.Join(r.dir, "base.json"))
	must(t, err)
	changed := regexp.MustCompile(`"evals_canceled": [1-9]\d*`).ReplaceAll(text, []byte(`"evals_canceled": 1`))
	must(t, os.WriteFile(filepath.Join(r.dir, "base.json"), changed, 0o666))
	r.output = ""
	if code := r.step(gate); code != 3 || !strings.Contains(r.output, "::error") {
		t.Errorf("the figures differ from the baseline: exit code %d, want 3 and annotations\n%s", code, r.output)
	}
	summary, err := os.ReadFile(filepath.Join(r.dir, "summary.md"))
	must(t, err)
	if !strings.Contains(string(summary), "evals_canceled") {
		t.Errorf("the summary does not name the figure:\n%s", summary)
	}
	if text, err := os.ReadFile(filepath.Join(r.dir, "kept", "gate", "junit.xml")); err != nil || !strings.Contains(string(text), "<failure") {
		t.Errorf("the JUnit file has no failure (%v)", err)
	}
}
