package main

import (
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"

	"golang.org/x/mod/module"
)

// document is a bill of materials in CycloneDX 1.5. It has no serial number and no time but the
// commit's, so that a binary that is built again has the same.
type document struct {
	Format   string `json:"bomFormat"`
	Spec     string `json:"specVersion"`
	Version  int    `json:"version"`
	Metadata struct {
		Timestamp string    `json:"timestamp,omitempty"`
		Component component `json:"component"`
	} `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type component struct {
	Type       string      `json:"type"`
	Ref        string      `json:"bom-ref"`
	Name       string      `json:"name"`
	Version    string      `json:"version"`
	PURL       string      `json:"purl"`
	Hashes     []hash      `json:"hashes,omitempty"`
	Licences   []licensed  `json:"licenses"`
	Properties []debugPair `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type licensed struct {
	Expression string `json:"expression"`
}

type debugPair struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn"`
}

// sbom returns the bill of materials of a binary, from what the Go tool noted in it.
func sbom(binary string) ([]byte, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	cache, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOMODCACHE: %w", err)
	}
	doc := document{Format: "CycloneDX", Spec: "1.5", Version: 1}
	app := newComponent("application", info.Main.Path, info.Main.Version, "MPL-2.0")
	for _, s := range info.Settings {
		if s.Key == "vcs.time" {
			doc.Metadata.Timestamp = s.Value
		}
		if strings.HasPrefix(s.Key, "GO") || strings.HasPrefix(s.Key, "vcs.") {
			app.Properties = append(app.Properties, debugPair{"go:" + s.Key, s.Value})
		}
	}
	doc.Metadata.Component = app
	doc.Components = []component{newComponent("library", "std", strings.TrimPrefix(info.GoVersion, "go"), "BSD-3-Clause")}
	for _, m := range info.Deps {
		c, err := library(strings.TrimSpace(string(cache)), m)
		if err != nil {
			return nil, err
		}
		doc.Components = append(doc.Components, c)
	}
	uses := dependency{Ref: app.Ref}
	for _, c := range doc.Components {
		uses.DependsOn = append(uses.DependsOn, c.Ref)
	}
	doc.Dependencies = []dependency{uses}
	text, err := json.MarshalIndent(doc, "", "  ")
	return append(text, '\n'), err
}

// library describes a module, with its licence from the module cache.
func library(cache string, m *debug.Module) (component, error) {
	if m.Replace != nil {
		m = m.Replace
	}
	path, err := module.EscapePath(m.Path)
	if err != nil {
		return component{}, err
	}
	version, err := module.EscapeVersion(m.Version)
	if err != nil {
		return component{}, err
	}
	id, err := dep{Path: m.Path, Dir: filepath.Join(cache, filepath.FromSlash(path)+"@"+version)}.licence()
	if err != nil {
		return component{}, err
	}
	c := newComponent("library", m.Path, m.Version, id)
	sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:"))
	if err != nil {
		return component{}, fmt.Errorf("%s: its checksum %q: %w", m.Path, m.Sum, err)
	}
	c.Hashes = []hash{{"SHA-256", hex.EncodeToString(sum)}}
	return c, nil
}

func newComponent(kind, path, version, licence string) component {
	purl := "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
	return component{Type: kind, Ref: purl, Name: path, Version: version, PURL: purl, Licences: []licensed{{licence}}}
}
