//go:build programs

package rebuilt

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// dir holds the program. It outlives the test that builds it.
var dir string

func TestMain(m *testing.M) {
	var err error
	if dir, err = os.MkdirTemp("", "simctl-rebuilt-*"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

var once sync.Once

// program returns the path of the program, which the first caller builds.
func program(t *testing.T) string {
	t.Helper()
	path := filepath.Join(dir, "simctl")
	once.Do(func() { build(t, path) })
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("the program was not built: %v", err)
	}
	return path
}

// build builds the program from an overlay: the tree as it is, and changed files in their places.
func build(t *testing.T, path string) {
	t.Helper()
	root, err := filepath.Abs("../..")
	must(t, err)
	replace := map[string]string{}
	for _, section := range sections(t) {
		file := apply(t, block(t, section, "diff"))
		name := filepath.Join(root, file.name)
		if replace[name] != "" {
			t.Fatalf("two diffs make %s", file.name)
		}
		replace[name] = filepath.Join(file.dir, file.name)
	}
	policy := filepath.Join(root, "broker", "policy_shedding.go")
	replace[policy] = brokenPolicy(t, policy)
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	must(t, err)
	must(t, os.WriteFile(path+".json", overlay, 0o600))
	run(t, root, "go", "build", "-pgo=off", "-overlay", path+".json", "-o", path, "./cmd/simctl")
}

// breaks is set in the environment of a program whose shedding policy is to keep everything.
const breaks = "SIMCTL_TEST_SHEDS_NOTHING"

// brokenPolicy returns the shedding policy with one line changed.
func brokenPolicy(t *testing.T, source string) string {
	t.Helper()
	const line = "{ return pending.KeepBest() }"
	broken := `{
	if os.Getenv("` + breaks + `") != "" {
		return nil
	}
	return pending.KeepBest()
}`
	data, err := os.ReadFile(source)
	must(t, err)
	text := string(data)
	if n := strings.Count(text, line); n != 1 {
		t.Fatalf("%s has %q %d times, want once: it is the line that this test breaks", source, line, n)
	}
	text = strings.Replace(strings.Replace(text, line, broken, 1), "package broker\n", "package broker\n\nimport \"os\"\n", 1)
	changed := filepath.Join(t.TempDir(), "policy_shedding.go")
	must(t, os.WriteFile(changed, []byte(text), 0o600))
	return changed
}
