package main

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/simctl/simctl/broker/explore"
)

func TestBrokerExplore(t *testing.T) {
	small := []string{"explore", "--jobs", "1", "--evals", "3", "--workers", "1"}
	for _, tt := range []struct {
		name   string
		args   []string
		code   int
		stdout []string
		err    string
	}{
		{"sound", small, exitOK,
			[]string{"1 job with 3 triggers each, 1 worker", "legacy: holds in every state", "shedding: holds in every state"}, ""},
		{"one policy", append(small, "--policy", "shedding+dedup-leak"), exitOK,
			[]string{"shedding+dedup-leak: holds"}, ""},
		{"a queue of jobs", append(small, "--policy", "legacy,work-queue"), exitOK,
			[]string{"legacy: holds", "work-queue: holds in every state"}, ""},
		{"unsound", append(small, "--priorities", "2"), exitVerdict,
			[]string{"legacy: holds", `shedding: VIOLATES "no lost wake-up"`, "ack id=a1 token=t1\n----\nok, shed 1"}, "unsound: shedding"},
		{"unfinished", append(small, "--max-states", "10"), exitFailed,
			[]string{"legacy: unfinished"}, "search unfinished: legacy, shedding (raise --max-states"},
		{"unknown policy", []string{"explore", "--policy", "best"}, exitUsage, nil, `unknown broker policy "best": use legacy or shedding`},
		{"misspelt policy", []string{"explore", "--policy", "sheding"}, exitUsage, nil, `did you mean "shedding"?`},
		{"unknown change", []string{"explore", "--policy", "legacy+fast"}, exitUsage, nil, `unknown or repeated change "fast"`},
		{"no policy", []string{"explore", "--policy="}, exitUsage, nil, `unknown broker policy ""`},
		{"a policy of one's own", append(small, "--policy", "legacy+ack-keeps-none"), exitVerdict,
			[]string{`legacy+ack-keeps-none: VIOLATES "no lost wake-up" after 5 steps`, "policies legacy+ack-keeps-none\n----\n"},
			"unsound: legacy+ack-keeps-none"},
		{"jobs", []string{"explore", "--jobs", "9"}, exitUsage, nil, `--jobs "9": it must be from 1 to 4`},
		{"evals", []string{"explore", "--evals", "0"}, exitUsage, nil, `--evals "0": it must be from 1 to 8`},
		{"write failures", []string{"explore", "--write-failures", "-1"}, exitUsage, nil, `--write-failures "-1": it must be from 0 to 10`},
		{"snapshot", []string{"explore", "--snapshot", "new"}, exitUsage, nil, `--snapshot "new": it must be eval or job`},
		{"max states", []string{"explore", "--max-states", "0"}, exitUsage, nil, `--max-states "0": it must be from 1 to 1000000000`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			stdout, err := runBroker(t, tt.args)
			if exitCode(err) != tt.code || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error %v, want one with %q for exit code %d", err, tt.err, tt.code)
			}
			for _, want := range tt.stdout {
				if !strings.Contains(stdout, want) {
					t.Errorf("no %q in\n%s", want, stdout)
				}
			}
		})
	}
}

func TestBrokerExploreJSON(t *testing.T) {
	stdout, err := runBroker(t, []string{"explore", "--jobs", "1", "--evals", "2", "--format", "json"})
	if err != nil {
		t.Fatal(err)
	}
	var out struct{ Reports []explore.Report }
	if err := json.Unmarshal([]byte(stdout), &out); err != nil {
		t.Fatal(err)
	}
	if len(out.Reports) != 2 || out.Reports[1].Policy != "shedding" || !out.Reports[1].Complete || out.Reports[1].States == 0 {
		t.Errorf("reports %+v", out.Reports)
	}
}

// TestBrokerExploreInterrupted expects one line about two searches that end early.
func TestBrokerExploreInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	cmd := newBrokerCommand()
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs([]string{"explore"})
	err := cmd.ExecuteContext(ctx)
	if exitCode(err) != exitFailed || err.Error() != "interrupted (context canceled): the search proves nothing" {
		t.Errorf("error %v, exit code %d", err, exitCode(err))
	}
}

func runBroker(t *testing.T, args []string) (stdout string, err error) {
	t.Helper()
	var out bytes.Buffer
	cmd := newBrokerCommand()
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SetErr(&bytes.Buffer{})
	err = cmd.ExecuteContext(t.Context())
	return out.String(), err
}
