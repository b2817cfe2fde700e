package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/semver"
)

// report is an entry of the Go vulnerability database, https://go.dev/doc/security/vuln/database.
type report struct {
	ID        string
	Withdrawn *time.Time
	Affected  []struct {
		Package struct{ Name string }
		Ranges  []struct {
			Events []struct{ Introduced, Fixed string }
		}
		Specific struct{ Imports []struct{ Path string } } `json:"ecosystem_specific"`
	}
}

// vulnFacts takes the facts from a directory of reports, such as data/osv of
// https://github.com/golang/vulndb.
func vulnFacts(dir string) ([]byte, error) {
	all, err := modules()
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(dir, "GO-*.json"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: there are no reports; want a directory of files GO-*.json", dir)
	}
	var lines []string
	newest := ""
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var r report
		if err := json.Unmarshal(text, &r); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		newest = max(newest, r.number())
		if r.Withdrawn == nil {
			lines = append(lines, r.lines(all)...)
		}
	}
	for _, m := range all {
		if !slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, m.Path+" ") }) {
			lines = append(lines, m.Path)
		}
	}
	slices.Sort(lines)
	head := "# Written by make vuln-facts from reports up to number " + newest + ": module, report, versions from, to (exclusive), packages\n"
	return []byte(head + strings.Join(slices.Compact(lines), "\n") + "\n"), nil
}

// number is the ID in a form that orders: GO-2026-4815 is 2026-04815.
func (r *report) number() string {
	year, n := 0, 0
	// An ID of another form is number 0.
	_, _ = fmt.Sscanf(r.ID, "GO-%d-%d", &year, &n)
	return fmt.Sprintf("%04d-%05d", year, n)
}

// lines says which versions of the modules the report is about.
func (r *report) lines(all []dep) (lines []string) {
	for _, a := range r.Affected {
		if !slices.ContainsFunc(all, func(m dep) bool { return m.Path == a.Package.Name }) {
			continue
		}
		for _, versions := range a.Ranges {
			from := "0"
			for _, e := range versions.Events {
				switch {
				case e.Introduced != "":
					from = e.Introduced
				case e.Fixed != "":
					lines = append(lines, fmt.Sprintf("%s %s %s %s", a.Package.Name, r.ID, from, e.Fixed))
					from = ""
				}
			}
			if from != "" {
				line := fmt.Sprintf("%s %s %s never", a.Package.Name, r.ID, from)
				for _, i := range a.Specific.Imports {
					line += " " + i.Path
				}
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// vulnerable returns what the facts say against the modules, and which of them they do not know.
func vulnerable(facts string, all []dep) error {
	known := map[string][][]string{}
	for scan := bufio.NewScanner(strings.NewReader(facts)); scan.Scan(); {
		if fields := strings.Fields(scan.Text()); len(fields) > 0 && fields[0] != "#" {
			known[fields[0]] = append(known[fields[0]], fields[1:])
		}
	}
	var errs []error
	for _, m := range all {
		of, ok := known[m.Path]
		if !ok {
			errs = append(errs, fmt.Errorf("%s: nobody has looked for reports about it; run make vuln-facts", m.Path))
		}
		for _, f := range of {
			if len(f) < 3 || len(f) > 3 && !slices.ContainsFunc(f[3:], func(path string) bool { return slices.Contains(m.packages, path) }) {
				continue
			}
			if semver.Compare(m.Version, "v"+f[1]) >= 0 && (f[2] == "never" || semver.Compare(m.Version, "v"+f[2]) < 0) {
				errs = append(errs, fmt.Errorf("%s %s: https://pkg.go.dev/vuln/%s; fixed in %s", m.Path, m.Version, f[0], f[2]))
			}
		}
	}
	return errors.Join(errs...)
}
