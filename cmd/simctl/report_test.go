package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/simctl/simctl/metrics"
)

const (
	oldResult = "../../testdata/results/schema1-legacy.json"
	newResult = "../../testdata/results/schema1-shedding.json"
)

// execute runs one command by itself.
func execute(cmd *cobra.Command, args ...string) (stdout string, err error) {
	var out bytes.Buffer
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetFlagErrorFunc(flagError)
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(args)
	err = cmd.Execute()
	return out.String(), err
}

func TestReportWritesFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "charts")
	out, err := execute(newReportCommand(), oldResult, newResult, "--format", "html,svg,csv", "--out", dir)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	printed := strings.Fields(out)
	if len(printed) < 5 || len(printed) != len(entries) {
		t.Errorf("printed %q, wrote %d files", printed, len(entries))
	}
	for _, path := range printed {
		if info, err := os.Stat(path); err != nil || info.Size() == 0 {
			t.Errorf("printed %s: %v", path, err)
		}
	}
	if !strings.HasSuffix(printed[0], "report.html") {
		t.Errorf("the first file is %s", printed[0])
	}
}

func TestReportBesideItsResult(t *testing.T) {
	dir := t.TempDir()
	data, err := os.ReadFile(newResult)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "run.json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := execute(newReportCommand(), path); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "report.html")); err != nil {
		t.Error(err)
	}
	if again, err := os.ReadFile(path); err != nil || !bytes.Equal(again, data) {
		t.Errorf("the result itself was changed (%v)", err)
	}
}

func TestReportPrintsText(t *testing.T) {
	for format, want := range map[string]string{
		"csv": "legacy,heartbeat-storm,legacy,1,phases.drain.raft_entries,entries,2010\n", "markdown": "| Raft entries | 2,010 |",
		"prom": "# EOF\n", "json": `"comparison": {`, "table": "  Raft entries",
	} {
		out, err := execute(newReportCommand(), oldResult, newResult, "--format", format)
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("%s: error %v, no %q in\n%s", format, err, want, out)
		}
	}
}

func TestCompare(t *testing.T) {
	out, err := execute(newCompareCommand(), oldResult, newResult)
	if err != nil || !strings.Contains(out, "Drain: 98") || strings.Contains(out, "\x1b") {
		t.Errorf("error %v, output\n%s", err, out)
	}
}

func TestDigestCommand(t *testing.T) {
	r, err := metrics.Load(newResult)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := execute(newDigestCommand(), newResult); err != nil || out != r.Digest()+"\n" {
		t.Errorf("error %v, output %q, want %s", err, out, r.Digest())
	}
}

// TestReportBadInput checks that bad input exits with 2, prints one line that says how to
// correct it, and leaves no files.
func TestReportBadInput(t *testing.T) {
	dir := t.TempDir()
	taken := filepath.Join(dir, "taken")
	if err := os.WriteFile(taken, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		cmd  *cobra.Command
		args []string
		want string
	}{
		{newReportCommand(), nil, "takes one result or more, got 0"},
		{newReportCommand(), []string{newResult, "--format", "gif"}, `--format "gif": it must be one of account, csv, html`},
		{newReportCommand(), []string{newResult, "--format", "htm"}, `did you mean "html"?`},
		{newReportCommand(), []string{newResult, "--format", "csv,csv"}, `format "csv" is named twice`},
		{newReportCommand(), []string{newResult, "--out", taken}, "it is a file"},
		{newCompareCommand(), []string{newResult}, "takes 2 results, got 1"},
		{newCompareCommand(), []string{newResult, newResult, "--format", "png"}, `--format "png": it must be one of account, csv, json`},
		{newDigestCommand(), nil, "takes one result or more, got 0"},
	} {
		_, err := execute(tt.cmd, tt.args...)
		if err == nil || exitCode(err) != exitUsage || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s %q: exit code %d, error %v, want 2 and %q", tt.cmd.Name(), tt.args, exitCode(err), err, tt.want)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("%d files are there, want the one that was there before (%v)", len(entries), err)
	}
}
