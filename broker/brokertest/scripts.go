package brokertest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/broker/internal/script"
)

// RunScript runs one transcript under each of the policies side by side. Where their
// answers differ, the expected output has each policy's answer under its name, so that a
// script shows what a policy changes. The command `policies NAME...` in a transcript chooses
// other policies. The flag -rewrite writes the expected outputs anew.
func RunScript(t *testing.T, path string, policies ...broker.Policy) {
	envs := start(policies)
	datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
		if d.Cmd == "policies" {
			policies = policies[:0:0]
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
		line := d.Cmd
		for _, arg := range d.CmdArgs {
			line += " " + arg.String()
		}
		outs := make([]string, len(envs))
		for i, env := range envs {
			outs[i] = env.Exec(line, d.Input)
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
	same := true
	for _, out := range outs {
		same = same && out == outs[0]
	}
	if same {
		return outs[0]
	}
	var b strings.Builder
	for i, out := range outs {
		fmt.Fprintf(&b, "[%s]\n%s\n", policies[i], out)
	}
	return b.String()
}
