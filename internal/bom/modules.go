package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// program is the package whose binary a release ships.
const program = "github.com/simctl/simctl/cmd/simctl"

// platforms are those that releases are built for (.goreleaser.yaml): what is linked in depends on them.
var platforms = []string{"linux", "darwin", "windows"}

// dep is a dependency.
type dep struct {
	Path, Version, Dir string
	Main               bool
	shipped            bool     // part of the program, not only of its tests and tools
	packages           []string // those that are compiled
}

// modules returns every module of which a package is compiled: for the program on any platform,
// for tests and for tools, in the order of their paths.
func modules() ([]dep, error) {
	found := map[string]dep{}
	add := func(shipped bool, goos string, args ...string) error {
		cmd := exec.Command("go", append([]string{"list", "-pgo=off", "-deps", "-json=ImportPath,Module"}, args...)...)
		cmd.Env = append(os.Environ(), "GOOS="+goos, "CGO_ENABLED=0")
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("%v: %w", cmd.Args, err)
		}
		for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
			var p struct {
				ImportPath string
				Module     *dep
			}
			if err := dec.Decode(&p); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return fmt.Errorf("%v: %w", cmd.Args, err)
			}
			if m := p.Module; m != nil && !m.Main {
				m.shipped = shipped || found[m.Path].shipped
				m.packages = append(found[m.Path].packages, p.ImportPath)
				found[m.Path] = *m
			}
		}
	}
	for _, goos := range platforms {
		if err := add(true, goos, program); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(add(false, platforms[0], "-test", "github.com/simctl/simctl/..."), add(false, platforms[0], "tool")); err != nil {
		return nil, err
	}
	return slices.SortedFunc(maps.Values(found), func(a, b dep) int { return strings.Compare(a.Path, b.Path) }), nil
}
