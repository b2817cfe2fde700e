//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"slices"
)

// listed is a package as go list describes it.
type listed struct {
	ImportPath, Name, Dir     string
	GoFiles, Deps             []string
	TestImports, XTestImports []string
	Export                    string
	Module                    *struct{ Path, Dir, GoVersion string }

	exports map[string]string
}

// helperImports are what planted.go.txt imports.
var helperImports = []string{"cmp", "os", "strconv", "syscall"}

// list returns one package, and where the compiled packages are that it needs.
func list(name string) (*listed, error) {
	pkgs, err := goList("-find", name)
	if err != nil {
		return nil, err
	}
	if len(pkgs) != 1 || pkgs[0].Module == nil {
		return nil, fmt.Errorf("%s is %d packages, want one of this module", name, len(pkgs))
	}
	all, err := goList(append([]string{"-deps", "-export", name}, helperImports...)...)
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	for _, p := range all {
		exports[p.ImportPath] = p.Export
	}
	at := slices.IndexFunc(all, func(p *listed) bool { return p.ImportPath == pkgs[0].ImportPath })
	all[at].exports = exports
	return all[at], nil
}

func goList(args ...string) ([]*listed, error) {
	cmd := exec.Command("go", append([]string{"list", "-pgo=off", "-json=ImportPath,Name,Dir,GoFiles,Deps,TestImports,XTestImports,Export,Module"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%v: %w", cmd.Args, err)
	}
	var pkgs []*listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		p := new(listed)
		if err := dec.Decode(p); errors.Is(err, io.EOF) {
			return pkgs, nil
		} else if err != nil {
			return nil, fmt.Errorf("%v: %w", cmd.Args, err)
		}
		pkgs = append(pkgs, p)
	}
}

func (p *listed) importer(fset *token.FileSet) types.Importer {
	return importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		if file := p.exports[path]; file != "" {
			return os.Open(file)
		}
		return nil, fmt.Errorf("no compiled package %s", path)
	})
}

func (p *listed) goVersion() string { return "go" + p.Module.GoVersion }
