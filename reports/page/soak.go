package page

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports/figure"
	"github.com/simctl/simctl/reports/sweep"
	"github.com/simctl/simctl/reports/wording"
)

// Soak writes one self-contained page about random schedules, with the verdict as its title.
func Soak(w io.Writer, s *metrics.Soak) error {
	failed := s.Failed()
	title := fmt.Sprintf("%s of random faults passed", wording.Count(len(s.Schedules), "schedule"))
	if len(failed) > 0 {
		title = fmt.Sprintf("%d of %s of random faults failed", len(failed), wording.Count(len(s.Schedules), "schedule"))
	}
	subtitle := fmt.Sprintf("under %s, %s on the machine · simctl %s", strings.Join(s.Brokers, " and "), wording.Duration(s.WallS), s.Version)
	var figs []figure.Figure
	if len(s.Schedules) > 0 {
		figs = append(figs, pairMap(s))
	}
	f, err := newFrame(title, subtitle, nil, figs)
	if err != nil {
		return err
	}
	f.Date = s.Began.UTC().Format("2 January 2006, 15:04 UTC")
	data := struct {
		frame
		What, Command string
		Sections      []sweep.Section
	}{frame: f, Command: s.Command}
	for _, section := range []sweep.Section{soakFailures(failed), soakEvents(s), soakStates(s), soakSchedules(s)} {
		if len(section.Rows)+len(section.Notes) > 0 {
			data.Sections = append(data.Sections, section)
		}
	}
	return pages().ExecuteTemplate(w, "sweep.html.tmpl", data)
}

func soakFailures(failed []metrics.SoakSchedule) sweep.Section {
	out := sweep.Section{Title: "What failed"}
	for _, sched := range failed {
		text := fmt.Sprintf("seed %d: %s", sched.Seed, strings.Join(sched.Problems, "; "))
		if sched.File != "" {
			text += fmt.Sprintf(" (%s in a file that still fails: %s)", wording.Count(sched.Needed, "event"), sched.File)
		}
		out.Notes = append(out.Notes, text)
	}
	return out
}

func soakEvents(s *metrics.Soak) sweep.Section {
	times := map[string]int{}
	all := 0
	for _, sched := range s.Schedules {
		for _, e := range sched.Events {
			times[e.Word]++
			all++
		}
	}
	out := sweep.Section{Title: fmt.Sprintf("%s drawn", wording.Count(all, "event")), Header: []string{"event", "times", "soon followed by"}}
	pairs := s.Pairs()
	for _, word := range s.Words {
		after := 0
		for _, then := range s.Words {
			if pairs[metrics.SoakPair{First: word, Then: then}] > 0 {
				after++
			}
		}
		out.Rows = append(out.Rows, []string{word, strconv.Itoa(times[word]), fmt.Sprintf("%d of %d", after, len(s.Words))})
	}
	return out
}

func soakStates(s *metrics.Soak) sweep.Section {
	times := map[string]int{}
	for _, sched := range s.Schedules {
		for _, state := range sched.Reached {
			times[state]++
		}
	}
	out := sweep.Section{Title: wording.Count(len(times), "state") + " reached", Header: []string{"state", "schedules"}}
	for _, state := range slices.Sorted(maps.Keys(times)) {
		out.Rows = append(out.Rows, []string{state, strconv.Itoa(times[state])})
	}
	return out
}

// mostListed is the number of schedules that the page lists one by one.
const mostListed = 1000

func soakSchedules(s *metrics.Soak) sweep.Section {
	out := sweep.Section{Title: "Schedules", Header: []string{"seed", "events", "virtual time", "digest of every event", "verdict"}}
	for i, sched := range s.Schedules {
		if i == mostListed {
			out.Title = fmt.Sprintf("The first %d schedules; soak.json has the rest", mostListed)
			break
		}
		verdict := "passed"
		if len(sched.Problems) > 0 {
			verdict = "failed"
		}
		out.Rows = append(out.Rows, []string{strconv.FormatInt(sched.Seed, 10), strconv.Itoa(len(sched.Events)), wording.Duration(sched.VirtualS), sched.Digest, verdict})
	}
	return out
}

// pairMap shows how many schedules have each pair of events.
func pairMap(s *metrics.Soak) figure.Figure {
	pairs := s.Pairs()
	f := figure.Figure{
		ID: "soak-pairs",
		Title: fmt.Sprintf("%d of %s of events within %d s of each other came up", len(pairs), wording.Count(len(s.Words)*len(s.Words), "pair"),
			metrics.SoakPairS),
		Note: "A row is the event that came first, a column the one after it, by its number; a cell is the number of schedules with the pair.",
		X:    figure.Axis{Label: "then"}, Y: figure.Axis{Label: "first"},
	}
	most := 1
	for _, n := range pairs {
		most = max(most, n)
	}
	var p figure.Panel
	for i, first := range s.Words {
		f.X.Names = append(f.X.Names, strconv.Itoa(i+1))
		for j, then := range s.Words {
			n := pairs[metrics.SoakPair{First: first, Then: then}]
			c := figure.Cell{X: j, Y: len(s.Words) - 1 - i, Color: figure.RGB(0xff, 0xff, 0xff), Detail: fmt.Sprintf("%s, then %s: %s", first, then, wording.Count(n, "schedule"))}
			if n > 0 {
				c.Label = strconv.Itoa(n)
				share := float64(n) / float64(most)
				c.Color = figure.RGB(uint8(0xd8-0xa0*share), uint8(0xe6-0x80*share), uint8(0xf6-0x50*share))
			}
			p.Cells = append(p.Cells, c)
		}
	}
	for i := len(s.Words) - 1; i >= 0; i-- { // the page has the last category on top
		f.Y.Names = append(f.Y.Names, fmt.Sprintf("%d %s", i+1, s.Words[i]))
	}
	f.Panels = []figure.Panel{p}
	return f
}
