package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestBadResultFiles gives every command that reads results every kind of file that is not
// one. It expects exit code 2 and one line that names the file and the problem, and no new
// files.
func TestBadResultFiles(t *testing.T) {
	data, err := os.ReadFile(newResult)
	if err != nil {
		t.Fatal(err)
	}
	good := string(data)
	commands := map[string]func(bad string) (*cobra.Command, []string){
		"report": func(bad string) (*cobra.Command, []string) { return newReportCommand(), []string{oldResult, bad} },
		"report csv": func(bad string) (*cobra.Command, []string) {
			return newReportCommand(), []string{bad, "--format", "csv"}
		},
		"compare, second": func(bad string) (*cobra.Command, []string) { return newCompareCommand(), []string{oldResult, bad} },
		"compare, first":  func(bad string) (*cobra.Command, []string) { return newCompareCommand(), []string{bad, oldResult} },
		"digest":          func(bad string) (*cobra.Command, []string) { return newDigestCommand(), []string{bad} },
	}
	for name, tt := range map[string]struct{ content, want string }{
		"empty":     {"", "the file is empty"},
		"truncated": {good[:len(good)/2], "the file is truncated: its JSON breaks off at byte"},
		"cut short": {good[:len(good)-3], "the file is truncated"},
		"foreign":   {`{"hello":"world"}`, `not a simctl result: it has no "schema" and "run"`},
		"list":      {`[1,2,3]`, "not a simctl result: it is JSON, but no object"},
		"text":      {"# Results\n\nAll is well.\n", "not a simctl result, which is JSON: invalid character '#'"},
		"picture":   {"\x89PNG\r\n\x1a\n\x00\x00\x00", "not a simctl result, which is JSON: invalid character"},
		"future":    {strings.Replace(good, `"schema": 1`, `"schema": 7`, 1), "it has schema 7, but this simctl reads up to 1: use a newer simctl"},
		"new field": {strings.Replace(good, `"peak_pending"`, `"peak_depth"`, 1), `it has a field "peak_depth", which this simctl does not know`},
		"two":       {good + good, "something follows the result"},
		"long":      {"", "it is longer than 256 MiB"},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "some result.json")
		if err := os.WriteFile(path, []byte(tt.content), 0o600); err != nil {
			t.Fatal(err)
		}
		if name == "long" {
			if err := os.Truncate(path, 1<<29); err != nil {
				t.Fatal(err)
			}
		}
		for what, command := range commands {
			cmd, args := command(path)
			out, err := execute(cmd, args...)
			switch {
			case err == nil || exitCode(err) != exitUsage:
				t.Errorf("%s of a file that is %s: exit code %d, error %v, want 2", what, name, exitCode(err), err)
			case !strings.HasPrefix(err.Error(), path+": ") || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n"):
				t.Errorf("%s of a file that is %s: error %q, want one line with the file's name and %q", what, name, err, tt.want)
			case out != "":
				t.Errorf("%s of a file that is %s printed %q", what, name, out)
			}
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
			t.Errorf("%s: %d files beside it (%v), want none", name, len(entries)-1, err)
		}
	}
	swept := t.TempDir()
	if err := os.Mkdir(filepath.Join(swept, "runs"), 0o755); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{swept: "the directory is a sweep's, whose results are in " + filepath.Join(swept, "runs"), t.TempDir(): "the directory holds no result file", filepath.Join(t.TempDir(), "none.json"): "no such file"} {
		for what, command := range commands {
			cmd, args := command(path)
			if _, err := execute(cmd, args...); err == nil || exitCode(err) != exitUsage || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s of %s: error %v, want exit code 2 and %q", what, path, err, want)
			}
		}
	}
}
