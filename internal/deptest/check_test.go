package deptest

import (
	"fmt"
	"slices"
	"strings"
)

// pkg is a package as `go list -json` describes it; see `go help list`.
type pkg struct {
	ImportPath   string
	Standard     bool
	Imports      []string
	TestImports  []string
	XTestImports []string
}

// check returns one line for every import that a rule forbids, in the order of pkgs.
// standard reports whether a path is in the standard library.
func check(pkgs []pkg, standard func(path string) bool) []string {
	var found []string
	for _, p := range pkgs {
		part, ours := partOf(p.ImportPath)
		if !ours {
			continue
		}
		for _, name := range strings.Split(part, "/") {
			if slices.Contains(vagueNames, name) {
				found = append(found, fmt.Sprintf("%s: a folder called %q says nothing about what is inside", p.ImportPath, name))
			}
		}
		for _, imp := range p.Imports {
			found = append(found, forbidden(p.ImportPath, part, imp, false, standard)...)
		}
		for _, imp := range slices.Concat(p.TestImports, p.XTestImports) {
			found = append(found, forbidden(p.ImportPath, part, imp, true, standard)...)
		}
	}
	return found
}

// forbidden returns the rules that forbid part to import imp.
func forbidden(importer, part, imp string, test bool, standard func(string) bool) []string {
	var found []string
	for _, b := range bans {
		if b.forbids(part, imp, test) {
			found = append(found, fmt.Sprintf("%s imports %s: %s", importer, imp, b.reason))
		}
	}
	if test || standard(imp) {
		return found
	}
	l := layerOf(part)
	if l == nil {
		return append(found, fmt.Sprintf("%s imports %s: no layer in the table covers %s; add one with its reason", importer, imp, part))
	}
	if !l.allows(imp) {
		found = append(found, fmt.Sprintf("%s imports %s: %s", importer, imp, l.reason))
	}
	return found
}

// partOf returns the path of a package within this module.
func partOf(importPath string) (part string, ours bool) {
	if !under(importPath, module) {
		return "", false
	}
	return strings.TrimPrefix(strings.TrimPrefix(importPath, module), "/"), true
}

// layerOf finds the rule with the longest name that covers part.
func layerOf(part string) *layer {
	var best *layer
	for i := range layers {
		l := &layers[i]
		if under(part, l.part) && (best == nil || len(l.part) > len(best.part)) {
			best = l
		}
	}
	return best
}

// allows reports whether the layer may import a package that is not of the standard library.
func (l *layer) allows(imp string) bool {
	if part, ours := partOf(imp); ours {
		to := layerOf(part)
		return to != nil && (to.part == l.part || slices.Contains(l.own, to.part))
	}
	return slices.ContainsFunc(l.modules, func(m string) bool { return under(imp, m) })
}

// forbids reports whether the ban forbids part to import imp.
func (b *ban) forbids(part, imp string, test bool) bool {
	root, below := strings.CutSuffix(b.path, "/...")
	if imp != root && !(below && under(imp, root)) {
		return false
	}
	if test && !b.tests {
		return false
	}
	return !slices.ContainsFunc(b.exceptPaths, func(p string) bool { return under(imp, p) }) &&
		!slices.ContainsFunc(b.exceptParts, func(p string) bool { return under(part, p) })
}
