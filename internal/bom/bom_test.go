package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestVulnerable: a version within a range is reported, and so is a module that nobody looked at.
func TestVulnerable(t *testing.T) {
	const facts = "# head\nexample.org/a GO-1 0 1.2.0\nexample.org/a GO-2 1.3.0 1.3.2\nexample.org/b GO-3 2.0.0 never\nexample.org/c\nexample.org/e GO-4 0 never example.org/e/old\nexample.org/f GO-5 0 never example.org/f/a example.org/f/used\n"
	for _, c := range []struct{ path, version, want string }{
		{"example.org/a", "v1.1.9", "example.org/a v1.1.9: https://pkg.go.dev/vuln/GO-1; fixed in 1.2.0"},
		{"example.org/a", "v1.2.0", ""},
		{"example.org/a", "v1.3.1", "GO-2"},
		{"example.org/a", "v1.3.2", ""},
		{"example.org/b", "v1.9.0", ""},
		{"example.org/b", "v2.5.0", "GO-3; fixed in never"},
		{"example.org/b", "v2.0.0-20260101000000-0123456789ab", ""},
		{"example.org/c", "v0.1.0", ""},
		{"example.org/d", "v0.1.0", "example.org/d: nobody has looked for reports about it; run make vuln-facts"},
		{"example.org/e", "v0.1.0", ""},
		{"example.org/f", "v0.1.0", "GO-5; fixed in never"},
	} {
		err := vulnerable(facts, []dep{{Path: c.path, Version: c.version, packages: []string{c.path + "/used"}}})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: got %v, want %q", c.path, c.version, err, c.want)
		}
	}
}

// TestLicence: what is not known to be allowed is refused.
func TestLicence(t *testing.T) {
	for _, c := range []struct {
		name, file, text, want, err string
	}{
		{"known", "LICENSE", "Permission is hereby granted,\n  free of charge, to any person obtaining a copy", "MIT", ""},
		{"capitals", "COPYING.md", "APACHE LICENSE\nVERSION 2.0, JANUARY 2004", "Apache-2.0", ""},
		{"three clauses", "LICENCE.txt", "Redistribution and use in source and binary forms … Neither the name of X", "BSD-3-Clause", ""},
		{"unknown", "LICENSE", "Business Source License 1.1", "", "is allowed; if it is, add it to internal/bom/licences.go"},
		{"viral", "LICENSE-GPL", "GNU GENERAL PUBLIC LICENSE Version 3", "", "add it to internal/bom/licences.go"},
		{"a notice is no licence", "NOTICE", "Made by X", "", "has no licence"},
		{"none", "main.go", "package main", "", "has no licence"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := dep{Path: "example.org/x", Dir: t.TempDir()}
			if err := os.WriteFile(filepath.Join(m.Dir, c.file), []byte(c.text), 0o666); err != nil {
				t.Fatal(err)
			}
			got, err := m.licence()
			if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("got %q, %v; want %q, %q", got, err, c.want, c.err)
			}
		})
	}
}

// TestSBOM describes the binary of this test.
func TestSBOM(t *testing.T) {
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := sbom(binary)
	if err != nil {
		t.Fatal(err)
	}
	var doc document
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Format != "CycloneDX" || doc.Metadata.Component.Type != "application" || !strings.HasPrefix(doc.Metadata.Component.PURL, "pkg:golang/github.com/simctl/simctl") {
		t.Errorf("the document is of %+v", doc.Metadata.Component)
	}
	found := map[string]component{}
	for _, c := range doc.Components {
		found[c.Name] = c
	}
	mod := found["golang.org/x/mod"]
	if found["std"].Version == "" || len(mod.Hashes) != 1 || len(mod.Hashes[0].Content) != 64 || mod.Licences[0].Expression != "BSD-3-Clause" {
		t.Errorf("the components are %+v", doc.Components)
	}
	if len(doc.Dependencies) != 1 || len(doc.Dependencies[0].DependsOn) != len(doc.Components) {
		t.Errorf("the dependencies are %+v", doc.Dependencies)
	}
}
