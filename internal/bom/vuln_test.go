//go:build nightly

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestVulnWithoutNetwork: govulncheck, as make vuln runs it, takes a directory of reports and asks nobody else. It
// tells a function that is called from one that is not.
func TestVulnWithoutNetwork(t *testing.T) {
	if makefile, err := os.ReadFile("../../Makefile"); err != nil || !strings.Contains(string(makefile), "\t$(GO) tool govulncheck -db $(VULNDB) -test ./...\n") {
		t.Errorf("make vuln runs something else than this test (%v)", err)
	}
	dir := t.TempDir()
	for symbol, id := range map[string]string{"Compare": "GO-2099-0001", "Build": "GO-2099-0002"} {
		report := fmt.Sprintf(`{"schema_version": "1.3.1", "id": %q, "summary": "made up",
			"database_specific": {"url": "https://pkg.go.dev/vuln/%[1]s"},
			"modified": "2099-01-01T00:00:00Z", "published": "2099-01-01T00:00:00Z",
			"affected": [{"package": {"name": "golang.org/x/mod", "ecosystem": "Go"},
				"ranges": [{"type": "SEMVER", "events": [{"introduced": "0"}]}],
				"ecosystem_specific": {"imports": [{"path": "golang.org/x/mod/semver", "symbols": [%[2]q]}]}}]}`, id, symbol)
		if err := os.WriteFile(filepath.Join(dir, id+".json"), []byte(report), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "tool", "govulncheck", "-db", "file://"+dir, "-test", ".")
	cmd.Env = append(os.Environ(), "GOPROXY=off")
	out, err := cmd.CombinedOutput()
	text := string(out)
	if err == nil || !strings.Contains(text, "GO-2099-0001") || !strings.Contains(text, "semver.Compare") {
		t.Errorf("a report about what is called: %v\n%s", err, out)
	}
	if strings.Contains(text, "GO-2099-0002") || strings.Contains(text, "semver.Build") {
		t.Errorf("a report about what is not called counts:\n%s", out)
	}
}
