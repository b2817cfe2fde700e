package scenarios

import (
	"embed"
	"encoding/json"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/simctl/simctl/internal/infile"
	"github.com/simctl/simctl/scenarios/language"
)

//go:embed catalogue/*
var catalogue embed.FS

// Names returns the names of the built-in scenarios, sorted.
func Names() []string { return namesIn(catalogue, "catalogue") }

// namesIn returns the names of the .hcl files in a folder, sorted. Other files there are ones
// that those name.
func namesIn(files embed.FS, folder string) []string {
	entries, err := files.ReadDir(folder)
	if err != nil {
		panic(err) // it is embedded
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".hcl"); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Text returns the text of a built-in scenario's file; false if there is none of that name.
func Text(name string) ([]byte, bool) {
	text, err := catalogue.ReadFile(path.Join("catalogue", name+".hcl"))
	return text, err == nil
}

// readBuiltin reads a file that a built-in scenario names.
func readBuiltin(name string) ([]byte, error) {
	text, err := catalogue.ReadFile(path.Join("catalogue", name))
	if err != nil {
		return nil, &InputError{Value: name, Allowed: "no such file comes with the built-in scenarios"}
	}
	return text, nil
}

// opened has, by name, the functions that read built-in scenarios, each when first called.
var opened sync.Map

// builtin returns a function that reads a built-in scenario as far as it does not depend on
// variables; false if there is none of that name. The file is parsed once, at the first call.
func builtin(name string) (func() (*language.File, error), bool) {
	text, ok := Text(name)
	if !ok {
		return nil, false
	}
	file, _ := opened.LoadOrStore(name, sync.OnceValues(func() (*language.File, error) { return openOwn(name+".hcl", text) }))
	return file.(func() (*language.File, error)), true
}

// Page is what the documentation says of a built-in scenario.
type Page struct {
	Title, About, Reading string
	Sources               []string
	Chart                 string   // the file, less its extension, of the chart to show
	Spec                  Spec     // of the example, less broker and seed
	Brokers               []string // to compare
}

// PageOf returns the page of a built-in scenario. The error is that of OutlineOf.
func PageOf(name string) (Page, error) {
	c, err := OutlineOf(Spec{Scenario: name})
	if err != nil {
		return Page{}, err
	}
	p := Page{Title: c.def.Title, About: c.def.About, Sources: c.def.Sources, Spec: Spec{Scenario: name}, Brokers: compared(c.def)}
	if e := c.def.Example; e != nil {
		p.Reading, p.Chart = e.Reading, e.Chart
		for _, v := range slices.Sorted(maps.Keys(e.Variables)) {
			p.Spec.Set(v, e.Variables[v])
		}
	}
	return p, nil
}

// ReadAll reads all built-in scenarios side by side. Whoever asks about each of them then waits less.
func ReadAll() {
	var reads sync.WaitGroup
	for _, name := range Names() {
		read, _ := builtin(name)
		reads.Go(func() { _, _ = read() })
	}
	reads.Wait()
}

// Describe says in one line what a built-in scenario does; empty if there is none of that
// name.
func Describe(name string) string {
	file, err := Spec{Scenario: name}.open()
	if err != nil {
		return ""
	}
	return file.Title
}

// FromFile returns the Spec of a scenario file, named after it, less broker and seed. The
// error is an *InputError if the file cannot be read.
func FromFile(file string) (Spec, error) {
	text, err := infile.Read(file, infile.MostText)
	if err != nil {
		return Spec{}, &InputError{Value: file, Allowed: "it cannot be read: " + err.Error()}
	}
	return FromText(file, text)
}

// FromText is FromFile for a text that was read already.
func FromText(file string, text []byte) (Spec, error) {
	if len(strings.TrimSpace(string(text))) == 0 {
		return Spec{}, &InputError{Value: file, Allowed: "it is empty"}
	}
	if json.Valid(text) {
		return Spec{}, &InputError{Value: file, Allowed: "it is JSON, as results are, but a scenario is HCL: simctl report and simctl compare take results"}
	}
	return Spec{Scenario: strings.TrimSuffix(filepath.Base(file), ".hcl"), File: file, Source: string(text)}, nil
}
