package broker_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/broker/internal/script"
)

// TestScripts runs every transcript under the old and the new broker side by side.
func TestScripts(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scripts in testdata: %v", err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) { runScript(t, path) })
	}
}

// runScript runs one transcript under legacy and shedding side by side. Where their
// answers differ, the expected output has each policy's answer under its name, so that a
// script shows what a policy changes. The command `policies NAME...` in a transcript chooses
// other policies. The flag -rewrite writes the expected outputs anew.
func runScript(t *testing.T, path string) {
	policies := []broker.Policy{broker.Legacy(), broker.Shedding()}
	envs := start(policies)
	datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
		if d.Cmd == "policies" {
			policies = nil
			for _, arg := range d.CmdArgs {
				p, err := broker.PolicyByName(arg.Key)
				if err != nil {
					d.Fatalf(t, "%v", err)
				}
				policies = append(policies, p)
			}
			envs = start(policies)
			return ""
		}
		outs := make([]string, len(envs))
		for i, env := range envs {
			outs[i] = env.Exec(d.FullCmd(), d.Input)
			if strings.Contains(outs[i], "bad script") || strings.Contains(outs[i], "invariant broken") {
				d.Fatalf(t, "policy %s: %s", policies[i], outs[i])
			}
		}
		return sideBySide(policies, outs)
	})
}

func start(policies []broker.Policy) []*script.Env {
	var envs []*script.Env
	for _, p := range policies {
		envs = append(envs, script.New(p))
	}
	return envs
}

// sideBySide prints the outputs once if they agree, else each after its policy's name.
func sideBySide(policies []broker.Policy, outs []string) string {
	if len(slices.Compact(slices.Clone(outs))) == 1 {
		return outs[0]
	}
	var b strings.Builder
	for i, out := range outs {
		fmt.Fprintf(&b, "[%s]\n%s\n", policies[i], out)
	}
	return b.String()
}
