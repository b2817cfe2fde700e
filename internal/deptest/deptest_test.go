package deptest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestImports checks every package of the module against the rules.
func TestImports(t *testing.T) {
	pkgs := list(t, "-json=ImportPath,Imports,TestImports,XTestImports", module+"/...")
	if !slices.ContainsFunc(pkgs, func(p pkg) bool { return p.ImportPath == module+"/broker" }) {
		t.Fatalf("go list found %d packages but not the broker: the check would pass without checking", len(pkgs))
	}
	isStandard := map[string]bool{"C": true, "unsafe": true}
	for _, p := range list(t, "-json=ImportPath,Standard", "std") {
		isStandard[p.ImportPath] = true
	}
	for _, line := range check(pkgs, func(path string) bool { return isStandard[path] }) {
		t.Error(line)
	}
}

func list(t *testing.T, args ...string) []pkg {
	t.Helper()
	var stderr bytes.Buffer
	// With a profile, go list would also list variants of the packages built for it.
	cmd := exec.Command("go", append([]string{"list", "-pgo=off"}, args...)...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, stderr.String())
	}
	var pkgs []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatalf("%v: %v", cmd.Args, err)
		}
		pkgs = append(pkgs, p)
	}
}

// TestCheck gives the checker a violation of every kind, and an allowed neighbour of each.
func TestCheck(t *testing.T) {
	standard := func(path string) bool { return !strings.Contains(strings.Split(path, "/")[0], ".") }
	for _, c := range []struct {
		name string
		pkg  pkg
		want []string // a part of each line, in order
	}{
		{"the broker stays pure", pkg{ImportPath: "broker", Imports: []string{"time", "@cluster/rpc"}},
			[]string{"broker imports @cluster/rpc: the broker is a pure"}},
		{"no library in the broker", pkg{ImportPath: "broker", Imports: []string{"github.com/hashicorp/raft"}},
			[]string{"broker imports github.com/hashicorp/raft: the broker is a pure"}},
		{"a longer name has its own rule", pkg{ImportPath: "broker/explore", Imports: []string{"@broker"}}, nil},
		{"a folder below a part shares its rule", pkg{ImportPath: "reports/html", Imports: []string{"@reports", "@metrics", "github.com/olekukonko/tablewriter/tw", "@broker"}},
			[]string{"reports/html imports @broker: every report"}},
		{"reports know results only", pkg{ImportPath: "reports", Imports: []string{"@scenarios"}},
			[]string{"reports imports @scenarios: every report"}},
		{"a prefix of a name is not the name", pkg{ImportPath: "metrics", Imports: []string{"github.com/HdrHistogram/hdrhistogram-gopher"}},
			[]string{"metrics imports github.com/HdrHistogram/hdrhistogram-gopher"}},
		{"rpc may not reach up to its parent", pkg{ImportPath: "cluster/rpc", Imports: []string{"@cluster"}},
			[]string{"cluster/rpc imports @cluster: fleet and cluster meet"}},
		{"cmd does not touch the cluster", pkg{ImportPath: "cmd/simctl", Imports: []string{"@cluster", "@broker/explore"}},
			[]string{"cmd/simctl imports @cluster: a command maps"}},
		{"an unknown part", pkg{ImportPath: "surprise", Imports: []string{"time", "@metrics"}},
			[]string{"surprise imports @metrics: no layer"}},
		{"testing in the program", pkg{ImportPath: "scenarios", Imports: []string{"testing/synctest"}},
			[]string{"scenarios imports testing/synctest: the program depends on package testing in one place"}},
		{"testing in the bubble", pkg{ImportPath: "scenarios/internal/bubble", Imports: []string{"testing", "testing/synctest"}}, nil},
		{"testing in tests", pkg{ImportPath: "broker", TestImports: []string{"testing"}, XTestImports: []string{"@internal/rusage"}}, nil},
		{"the main nomad module, even in tests", pkg{ImportPath: "nodesim", XTestImports: []string{"github.com/hashicorp/nomad/nomad/structs"}},
			[]string{"nodesim imports github.com/hashicorp/nomad/nomad/structs: Nomad's main module"}},
		{"nomad's api in tests", pkg{ImportPath: "nodesim", TestImports: []string{"github.com/hashicorp/nomad/api"}}, nil},
		{"a command below the program", pkg{ImportPath: "broker/explore", Imports: []string{"@cmd/simctl"}},
			[]string{"nothing depends on a command", "tries orders"}},
		{"a folder that says nothing", pkg{ImportPath: "cluster/util"}, []string{`"util" says nothing`}},
		{"other modules are not judged", pkg{ImportPath: "example.org/util", Imports: []string{"testing"}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := c.pkg
			if !strings.Contains(p.ImportPath, ".") {
				p.ImportPath = module + "/" + p.ImportPath
			}
			for _, imports := range [][]string{p.Imports, p.TestImports, p.XTestImports} {
				for i := range imports {
					imports[i] = strings.Replace(imports[i], "@", module+"/", 1)
				}
			}
			got := check([]pkg{p}, standard)
			if len(got) != len(c.want) {
				t.Fatalf("got %d findings, want %d:\n%s", len(got), len(c.want), strings.Join(got, "\n"))
			}
			for i, want := range c.want {
				if want = strings.ReplaceAll(want, "@", module+"/"); !strings.Contains(got[i], want) {
					t.Errorf("finding %d is %q, want it to contain %q", i, got[i], want)
				}
			}
		})
	}
}

// TestRules checks the table itself: a part named twice, or never, is not guarded.
func TestRules(t *testing.T) {
	seen := map[string]bool{}
	for _, l := range layers {
		if seen[l.part] {
			t.Errorf("layer %q is in the table twice", l.part)
		}
		seen[l.part] = true
		if l.reason == "" {
			t.Errorf("layer %q gives no reason", l.part)
		}
		for _, own := range l.own {
			if to := layerOf(own); to == nil || to.part != own {
				t.Errorf("layer %q may import %q, which no layer is called", l.part, own)
			}
		}
	}
	for _, b := range bans {
		if b.reason == "" {
			t.Errorf("the ban of %q gives no reason", b.path)
		}
	}
}
