//go:build programs

package packaging

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// tracked is a file of the repository in the form that package zip takes.
type tracked struct{ root, name string }

func (f tracked) Path() string                 { return f.name }
func (f tracked) Lstat() (os.FileInfo, error)  { return os.Lstat(filepath.Join(f.root, f.name)) }
func (f tracked) Open() (io.ReadCloser, error) { return os.Open(filepath.Join(f.root, f.name)) }

// TestInstall publishes this tree in a module proxy of its own, installs it from there as a user
// does, and asks for the version. Dependencies come from the module cache, so it needs no network.
func TestInstall(t *testing.T) {
	version := module.Version{Path: "github.com/simctl/simctl", Version: "v0.2.0"}
	proxy, home, bin := t.TempDir(), t.TempDir(), t.TempDir()
	publish(t, proxy, version)
	cache, err := exec.Command("go", "env", "GOMODCACHE").Output()
	must(t, err)
	deps := filepath.Join(strings.TrimSpace(string(cache)), "cache", "download")

	cmd := exec.CommandContext(t.Context(), "go", "install", version.Path+"/cmd/simctl@"+version.Version)
	cmd.Dir = home // outside of the module
	cmd.Env = append(os.Environ(), "GOPROXY=file://"+proxy+",file://"+deps, "GOSUMDB=off", "GOMODCACHE="+filepath.Join(home, "mod"),
		"GOBIN="+bin, "GOFLAGS=-modcacherw -trimpath -pgo=off", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
	out, err := exec.CommandContext(t.Context(), filepath.Join(bin, "simctl"), "version").CombinedOutput()
	must(t, err)
	if !strings.HasPrefix(string(out), "simctl "+version.Version+" (go") {
		t.Errorf("simctl version prints %q, want %s", out, version.Version)
	}
}

// publish writes what a module proxy serves of a version.
func publish(t *testing.T, proxy string, version module.Version) {
	t.Helper()
	root, err := filepath.Abs("../..")
	must(t, err)
	list := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard", "-z")
	list.Dir = root
	names, err := list.Output()
	must(t, err)
	var files []zip.File
	for _, name := range strings.Split(strings.Trim(string(names), "\x00"), "\x00") {
		files = append(files, tracked{root, name})
	}
	dir := filepath.Join(proxy, version.Path, "@v")
	must(t, os.MkdirAll(dir, 0o777))
	file, err := os.Create(filepath.Join(dir, version.Version+".zip"))
	must(t, err)
	must(t, zip.Create(file, version, files))
	must(t, file.Close())
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	must(t, err)
	for name, text := range map[string]string{
		"list": version.Version + "\n", version.Version + ".mod": string(mod), version.Version + ".info": `{"Version": "` + version.Version + `"}`,
	} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
}
