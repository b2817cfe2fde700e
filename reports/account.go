package reports

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports/wording"
)

// writeAccount writes, for every phase of every run, what its events should have cost the Raft
// log beside what was written: a line for each message type, with its events below and what
// they leave unexplained.
func writeAccount(w io.Writer, runs []*metrics.Result) error {
	var out bytes.Buffer
	for i, r := range runs {
		if i > 0 {
			out.WriteByte('\n')
		}
		fmt.Fprintf(&out, "%s, %s broker, seed %d: entries of the Raft log\n", r.Run.Scenario, r.Run.Broker, r.Run.Seed)
		for j := range r.Phases {
			accountPhase(&out, &r.Phases[j])
		}
	}
	_, err := w.Write(out.Bytes())
	return err
}

func accountPhase(out *bytes.Buffer, p *metrics.Phase) {
	fmt.Fprintf(out, "\n  %-52s%12s%12s\n", p.Name, "expected", "written")
	if len(p.RaftAccount) == 0 {
		fmt.Fprintf(out, "    %-50s%12s%12s\n", "all types (nobody worked out what to expect)", wording.Missing, wording.Grouped(float64(p.RaftEntries)))
		return
	}
	kinds := map[string]uint64{}
	maps.Copy(kinds, p.RaftEntriesByType)
	maps.Copy(kinds, p.RaftEntriesExpectedByType)
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		fmt.Fprintf(out, "    %-50s%12s%12s\n", kind,
			wording.Grouped(float64(p.RaftEntriesExpectedByType[kind])), wording.Grouped(float64(p.RaftEntriesByType[kind])))
		for _, e := range p.RaftAccount {
			if e.Type == kind {
				n := wording.Grouped(float64(e.Entries)) // ends below what it is part of
				fmt.Fprintf(out, "      %s%*s\n", e.Event, max(60-len(e.Event), len(n)+2), n)
			}
		}
	}
	rest := p.Unexplained()
	for _, kind := range slices.Sorted(maps.Keys(rest)) {
		fmt.Fprintf(out, "    not explained: %+d %s\n", rest[kind], kind)
	}
	if len(rest) == 0 {
		fmt.Fprintln(out, "    every entry is explained")
	}
}
