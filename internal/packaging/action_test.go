package packaging

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v2"
)

// action is what the tests need of action.yml.
type action struct {
	Inputs map[string]struct {
		Required bool
		Default  string
	}
	Runs struct{ Steps []step }
}

type step struct {
	Name, ID, If, Uses, Shell, Run string
	Env, With                      map[string]string
}

func load(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	must(t, yaml.Unmarshal(text, into))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// runner runs the steps of an action as GitHub does: bash -eo pipefail, with files for outputs,
// for paths and for the summary.
type runner struct {
	t       *testing.T
	dir     string
	path    string
	action  string            // where the action's repository is
	context map[string]string // inputs.NAME, github.NAME, steps.ID.outputs.NAME
	output  string            // of all steps
}

var expression = regexp.MustCompile(`\$\{\{ (.*?) \}\}`)

// expand evaluates expressions of the forms that the action has: A and A || B.
func (r *runner) expand(text string) string {
	return expression.ReplaceAllStringFunc(text, func(e string) string {
		for _, name := range strings.Split(expression.FindStringSubmatch(e)[1], " || ") {
			value, known := r.context[name]
			if !known {
				r.t.Fatalf("%s: nothing is called %q", e, name)
			}
			if value != "" {
				return value
			}
		}
		return ""
	})
}

// step runs a step and returns its exit code. Only the text of run may have no expression: its
// value would become part of the script.
func (r *runner) step(s step) int {
	if s.Shell != "bash" || expression.MatchString(s.Run) {
		r.t.Fatalf("step %q: want shell: bash, and expressions in env alone", s.Name)
	}
	files := map[string]string{}
	env := append(os.Environ(), "PATH="+r.path)
	for _, name := range []string{"GITHUB_OUTPUT", "GITHUB_PATH"} {
		files[name] = filepath.Join(r.t.TempDir(), name)
		must(r.t, os.WriteFile(files[name], nil, 0o666))
		env = append(env, name+"="+files[name])
	}
	env = append(env, "GITHUB_STEP_SUMMARY="+filepath.Join(r.dir, "summary.md"), "GOBIN="+filepath.Join(r.dir, "bin"), "GITHUB_ACTION_PATH="+r.action)
	for name, value := range s.Env {
		env = append(env, name+"="+r.expand(value))
	}
	script := filepath.Join(r.t.TempDir(), "step.sh")
	must(r.t, os.WriteFile(script, []byte(s.Run), 0o666))
	cmd := exec.CommandContext(r.t.Context(), "bash", "--noprofile", "--norc", "-eo", "pipefail", script)
	cmd.Dir, cmd.Env = r.dir, env
	out, err := cmd.CombinedOutput()
	r.output += string(out)
	if cmd.ProcessState == nil {
		r.t.Fatal(err)
	}
	for _, line := range lines(r.t, files["GITHUB_PATH"]) {
		r.path = line + string(filepath.ListSeparator) + r.path
	}
	for _, line := range lines(r.t, files["GITHUB_OUTPUT"]) {
		name, value, _ := strings.Cut(line, "=")
		r.context["steps."+s.ID+".outputs."+name] = value
	}
	return cmd.ProcessState.ExitCode()
}

func lines(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	return strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' })
}

// fakeGo is a directory with a go command that installs the program of this tree in the place of
// the version asked for, as nothing is released yet. TestInstall tries the real go install.
func fakeGo(t *testing.T, version string) string {
	t.Helper()
	dir := t.TempDir()
	real, err := exec.LookPath("go")
	must(t, err)
	root, err := filepath.Abs("../..")
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "go"), fmt.Appendf(nil, `#!/bin/sh
case "$*" in
"install github.com/simctl/simctl/cmd/simctl@%s") exec %q build -C %q -pgo=off -o "$GOBIN/simctl" ./cmd/simctl ;;
"build -C / -o "*) echo "go $*"; exit 0 ;;
install*) echo "unexpected: go $*" >&2; exit 9 ;;
esac
exec %[2]q "$@"
`, version, real, root), 0o755))
	return dir
}

// TestActionOfAFork: a fork's action runs the fork's program, whatever versions others have published.
func TestActionOfAFork(t *testing.T) {
	var a action
	load(t, "../../action.yml", &a)
	install := a.Runs.Steps[slices.IndexFunc(a.Runs.Steps, func(s step) bool { return s.Name == "Install simctl" })]
	for _, repository := range []string{"", "team/fork"} { // uses: ./ and uses: team/fork@main
		r := &runner{t: t, dir: t.TempDir(), action: "/", path: fakeGo(t, "v0.2.0") + string(filepath.ListSeparator) + os.Getenv("PATH"), context: map[string]string{
			"github.action_ref": "main", "github.action_repository": repository, "inputs.version": "",
		}}
		code := r.step(install)
		if want := "-o " + filepath.Join(r.dir, "bin") + "/ ./cmd/simctl"; code != 0 || !strings.Contains(r.output, want) || strings.Contains(r.output, "unexpected") {
			t.Errorf("%q: exit code %d, want a build %q\n%s", repository, code, want, r.output)
		}
		if first, _, _ := strings.Cut(r.path, string(filepath.ListSeparator)); first != filepath.Join(r.dir, "bin") {
			t.Errorf("%q: the path begins with %s", repository, first)
		}
	}
}

// TestWorkflow: the workflow of docs/ci gives the action what it takes, at a version that exists.
func TestWorkflow(t *testing.T) {
	var a action
	load(t, "../../action.yml", &a)
	var workflow struct {
		Jobs map[string]struct{ Steps []step }
	}
	load(t, "../../docs/ci/simctl-gate.yml", &workflow)
	uses := 0
	for _, job := range workflow.Jobs {
		for _, s := range job.Steps {
			ref, ours := strings.CutPrefix(s.Uses, "simctl/simctl@")
			if !ours {
				continue
			}
			uses++
			for name := range s.With {
				if _, ok := a.Inputs[name]; !ok {
					t.Errorf("the action has no input %q", name)
				}
			}
			for name, input := range a.Inputs {
				if input.Required && s.With[name] == "" {
					t.Errorf("the workflow does not give %q", name)
				}
			}
			t.Run("version", func(t *testing.T) {
				if !regexp.MustCompile("^[0-9a-f]{40}$").MatchString(ref) {
					t.Fatalf("version %q can become another one, want a commit", ref)
				}
				if shallow, err := exec.Command("git", "rev-parse", "--is-shallow-repository").Output(); err != nil || string(shallow) != "false\n" {
					return // without the history, nobody knows which versions exist
				}
				if out, err := exec.Command("git", "cat-file", "-e", ref+":action.yml").CombinedOutput(); err != nil {
					t.Errorf("version %s has no action.yml: %v\n%s", ref, err, out)
				}
			})
		}
	}
	if uses != 1 {
		t.Errorf("the workflow uses the action %d times", uses)
	}
}

// TestGoVersion: what builds simctl elsewhere takes the Go version of go.mod.
func TestGoVersion(t *testing.T) {
	text, err := os.ReadFile("../../go.mod")
	must(t, err)
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(text)[1]
	for file, want := range map[string]string{
		"Dockerfile": "FROM golang:%s AS build\n", "action.yml": "go-version: \"%s\"\n", "README.md": "You need Go %s and git",
	} {
		text, err := os.ReadFile("../../" + file)
		must(t, err)
		if want = fmt.Sprintf(want, version); !strings.Contains(string(text), want) {
			t.Errorf("%s does not say %q, as go.mod does", file, want)
		}
	}
}
