package main

import (
	"io"
	"strings"
	"testing"
)

// TestScenariosAreReadWhenNeeded: the files of built-in scenarios have flags to say, and are
// read only for command lines that may be about them.
func TestScenariosAreReadWhenNeeded(t *testing.T) {
	for line, want := range map[string]string{
		"version":                         "",
		"digest heartbeat-storm.json":     "",
		"scenario heartbeat-storm --help": "scenario heartbeat-storm",
		"watch heartbeat-storm":           "watch heartbeat-storm",
		"scenario --help":                 "scenario heartbeat-storm, scenario steady-state",
		"scenario run storm.hcl":          "",
		"plan --nodes 5":                  "plan",
		"help scenario steady-state":      "plan, scenario heartbeat-storm, scenario steady-state, watch heartbeat-storm, watch steady-state",
		"__complete scenario steady":      "plan, scenario heartbeat-storm, scenario steady-state, watch heartbeat-storm, watch steady-state",
	} {
		root := newRootCommand(strings.Fields(line))
		var read []string
		for _, path := range []string{"plan", "scenario heartbeat-storm", "scenario steady-state", "watch heartbeat-storm", "watch steady-state"} {
			cmd, _, err := root.Find(strings.Fields(path))
			if err != nil {
				t.Fatal(err)
			}
			if cmd.Flags().Lookup("nodes") != nil {
				read = append(read, path)
			}
		}
		if got := strings.Join(read, ", "); got != want {
			t.Errorf("simctl %s: read are the scenarios of %q, want %q", line, got, want)
		}
	}
}

// TestCompletingReadsNoStdin: stdin is the terminal in which the user waits for the word.
func TestCompletingReadsNoStdin(t *testing.T) {
	for _, line := range []string{"scenario run - --var ", "sweep - --slo "} {
		args := append([]string{"__complete"}, strings.Split(line, " ")...)
		in := strings.NewReader(`title = "x"`)
		if code := run(args, in, io.Discard, io.Discard); code != exitOK || in.Len() != len(`title = "x"`) {
			t.Errorf("%q read stdin, or exited with %d", line, code)
		}
	}
}
