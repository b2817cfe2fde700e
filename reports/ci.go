package reports

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports/wording"
)

// Check is one demand on a run and its outcome.
type Check struct {
	Run       string `json:"run"`    // its label
	Name      string `json:"name"`   // what was checked: a metric, or an invariant
	Detail    string `json:"detail"` // for a threshold, what it is and what was demanded
	OK        bool   `json:"ok"`
	Threshold bool   `json:"threshold"` // as opposed to an invariant
	Demand    string `json:"demand,omitempty"`
	// Value is the figure of a threshold, and Baseline the one that it is compared with, if any.
	Value    *float64 `json:"value,omitempty"`
	Baseline *float64 `json:"baseline,omitempty"`
}

// Stopped says which runs a limit ended before they were over; "" if none was.
func Stopped(runs []*metrics.Result) string { return wording.Stopped(runs) }

// Checks lists what the runs were held to: every run's invariants first, then every run's
// thresholds.
func Checks(runs []*metrics.Result) []Check {
	names := wording.Labels(runs)
	var out []Check
	for i, r := range runs {
		for _, inv := range r.Invariants {
			out = append(out, Check{Run: names[i], Name: inv.Name, Detail: inv.Detail, OK: inv.OK})
		}
	}
	for i, r := range runs {
		for _, v := range r.Thresholds {
			name := v.Metric
			if v.Name != "" {
				name = v.Name + " (" + v.Metric + ")"
			}
			detail := wording.Measured(v.Metric, v.Value) + ", want " + wording.Demanded(v)
			if change := changeText(v); change != "" && !v.OK {
				detail += ": " + change
			}
			out = append(out, Check{names[i], name, detail, v.OK, true, wording.Demanded(v), &v.Value, v.Baseline})
		}
	}
	return out
}

// Failed counts the checks that failed.
func Failed(checks []Check) int {
	failed := 0
	for _, c := range checks {
		if !c.OK {
			failed++
		}
	}
	return failed
}

// ChecksJSON writes every check as one indented object.
func ChecksJSON(w io.Writer, runs []*metrics.Result) error {
	if len(runs) == 0 {
		return ErrNoRuns
	}
	checks := Checks(runs)
	failed := Failed(checks)
	return encodeJSON(w, struct {
		OK       bool    `json:"ok"`
		Scenario string  `json:"scenario"`
		Failed   int     `json:"failed"`
		Checks   []Check `json:"checks"`
	}{failed == 0, runs[0].Run.Scenario, failed, checks}, " ")
}

// DifferencesJSON writes what DifferenceLines does, and the name of the baseline's file, as one
// indented object.
func DifferencesJSON(w io.Writer, file string, changes []string, differences []metrics.Verdict) error {
	type difference struct {
		Run      string   `json:"run"`
		Metric   string   `json:"metric"`
		Value    float64  `json:"value"`
		Baseline *float64 `json:"baseline"`
	}
	all := []difference{}
	for _, v := range differences {
		all = append(all, difference{v.Run, v.Metric, v.Value, v.Baseline})
	}
	return encodeJSON(w, struct {
		Baseline    string       `json:"baseline"`
		Changes     []string     `json:"changes"`
		Differences []difference `json:"differences"`
	}{file, append([]string{}, changes...), all}, " ")
}

// changeText says by what share a figure differs from the baseline's; "" if there is no such share, as of zero.
func changeText(v metrics.Verdict) string {
	if v.Baseline == nil || *v.Baseline <= 0 || v.Value < 0 {
		return ""
	}
	share := v.Value / *v.Baseline - 1
	if share < 0 {
		return wording.Percent(-share) + " less"
	}
	return wording.Percent(share) + " more"
}

// DifferenceLines writes a line for every change of what is run, and for every figure that differs
// from a baseline's.
func DifferenceLines(w io.Writer, changes []string, differences []metrics.Verdict) error {
	var b strings.Builder
	for _, line := range changes {
		fmt.Fprintln(&b, line)
	}
	for _, v := range differences {
		fmt.Fprintf(&b, "%s: %s: %s, was %s", v.Run, v.Metric, wording.Measured(v.Metric, v.Value), wording.Measured(v.Metric, *v.Baseline))
		if change := changeText(v); change != "" {
			b.WriteString(": " + change)
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func mark(ok bool) string {
	if ok {
		return "✓"
	}
	return "✗"
}

// CheckLines writes a line for every check that failed, or for every check at all, and then one
// for each run that counts its checks.
func CheckLines(w io.Writer, runs []*metrics.Result, all bool) error {
	var b strings.Builder
	checks := Checks(runs)
	for _, c := range checks {
		if all || !c.OK {
			fmt.Fprintf(&b, "%s %s: %s: %s\n", mark(c.OK), c.Run, c.Name, c.Detail)
		}
	}
	for i, name := range wording.Labels(runs) {
		invariants, figures := 0, 0
		for _, c := range checks {
			switch {
			case c.Run != name || !c.OK:
			case c.Threshold:
				figures++
			default:
				invariants++
			}
		}
		r := runs[i]
		ok := invariants == len(r.Invariants) && figures == len(r.Thresholds)
		held := fmt.Sprintf("%d of %s", invariants, wording.Counted(float64(len(r.Invariants)), "invariants"))
		if len(r.Thresholds) > 0 {
			held += fmt.Sprintf(" and %d of %s", figures, wording.Counted(float64(len(r.Thresholds)), "figures"))
		}
		fmt.Fprintf(&b, "%s %s: %s are as they should be\n", mark(ok), name, held)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// JUnit's document, as far as the readers of CI systems agree on it.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Failure *junitFailure `xml:"failure,omitempty"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes the checks as a JUnit document with a suite for each run.
func JUnit(w io.Writer, runs []*metrics.Result) error {
	if len(runs) == 0 {
		return ErrNoRuns
	}
	var doc junitSuites
	for i, name := range wording.Labels(runs) {
		suite := junitSuite{Name: runs[i].Run.Scenario + " " + name}
		named := map[string]int{}
		for _, c := range Checks(runs) {
			if c.Run != name {
				continue
			}
			one := junitCase{Class: runs[i].Run.Scenario + "." + name, Name: c.Name}
			// Readers take cases of one name for one case.
			if named[c.Name] > 0 && c.Demand != "" {
				one.Name += " " + c.Demand
			}
			if n := named[one.Name]; n > 0 {
				one.Name += fmt.Sprintf(" #%d", n+1)
			}
			named[c.Name]++
			if one.Name != c.Name {
				named[one.Name]++
			}
			if !c.OK {
				one.Failure = &junitFailure{Message: c.Detail, Text: c.Name + ": " + c.Detail}
				suite.Failures++
			}
			suite.Cases = append(suite.Cases, one)
		}
		suite.Tests = len(suite.Cases)
		doc.Suites = append(doc.Suites, suite)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(doc); err != nil {
		return fmt.Errorf("write the JUnit document: %w", err)
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// maxAnnotations is the number of annotations of a kind that GitHub shows for one step.
const maxAnnotations = 10

// GitHubAnnotations writes workflow commands that annotate a GitHub Actions run with what
// failed: one for each run and phase, and no more than GitHub shows.
func GitHubAnnotations(w io.Writer, runs []*metrics.Result) error {
	var titles []string
	lines := map[string][]string{} // by title
	for _, c := range Checks(runs) {
		if c.OK {
			continue
		}
		title := runs[0].Run.Scenario + ", " + c.Run + ": " + scope(c)
		if lines[title] == nil {
			titles = append(titles, title)
		}
		lines[title] = append(lines[title], c.Name+": "+c.Detail)
	}
	if len(titles) > maxAnnotations {
		rest := wording.Count(len(titles)-maxAnnotations+1, "more group") + " of failed checks"
		for _, title := range titles[maxAnnotations-1:] {
			lines[rest] = append(lines[rest], fmt.Sprintf("%s: %d failed", title, len(lines[title])))
		}
		titles = append(titles[:maxAnnotations-1], rest)
	}
	var b strings.Builder
	for _, title := range titles {
		fmt.Fprintf(&b, "::error title=%s::%s\n", escapeProperty.Replace(title), escapeData.Replace(strings.Join(lines[title], "\n")))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// scope names the part of a run that a check is about.
func scope(c Check) string {
	if !c.Threshold {
		return "invariants"
	}
	_, path, found := strings.Cut(c.Name, "phases.")
	if phase, _, ok := strings.Cut(path, "."); found && ok {
		return "phase " + phase
	}
	return "the whole run"
}

// escapeData and escapeProperty keep text within a workflow command.
var (
	escapeData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	escapeProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// StepSummary writes the checks as Markdown for the summary of a CI step, the failed ones
// first. Without runs it returns ErrNoRuns.
func StepSummary(w io.Writer, runs []*metrics.Result) error {
	if len(runs) == 0 {
		return ErrNoRuns
	}
	checks := Checks(runs)
	failed := Failed(checks)
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\nHeld: %d of %s.\n\n| | run | check | |\n|---|---|---|---|\n", wording.MarkdownCell(runs[0].Run.Scenario), len(checks)-failed, wording.Count(len(checks), "check"))
	for _, ok := range []bool{false, true} {
		for _, c := range checks {
			if c.OK == ok && (!ok || c.Threshold) {
				fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", mark(ok), wording.MarkdownCell(c.Run), wording.MarkdownCell(c.Name), wording.MarkdownCell(c.Detail))
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
