package explore

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// WriteText writes the reports of one search for people: what was searched, a line for each
// policy, and each counterexample with its script.
func WriteText(w io.Writer, reports []*Report) error {
	if len(reports) == 0 {
		return nil
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n\n", reports[0].Bounds)
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "states\tsteps\tlongest history\tquiet ends\t  policy, verdict")
	for _, r := range reports {
		fmt.Fprintf(table, "%d\t%d\t%d\t%d\t  %s: %s\n", r.States, r.Transitions, r.Depth, r.Quiet, r.Policy, r.Verdict())
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, r := range reports {
		if r.Violation != nil {
			r.Violation.writeText(&out, r.Policy)
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// Verdict returns in a few words what the search found.
func (r *Report) Verdict() string {
	if r.Violation == nil {
		return r.Found.Verdict(nil)
	}
	return r.Found.Verdict(&r.Violation.Counterexample)
}

// String returns a sentence that says what is searched.
func (b Bounds) String() string {
	snapshot := "its own evaluation"
	if b.Snapshot == SnapshotJob {
		snapshot = "any evaluation of its job"
	}
	return fmt.Sprintf(`Every interleaving of %s with %s each, %s and
a reaper of batches of %d, with up to %s, %s and
%s; delivery limit %d, %s; a worker's
snapshot is no older than %s.`,
		count(b.Jobs, "job"), count(b.Evals, "trigger"), count(b.Workers, "worker"), b.Batch,
		count(b.Timeouts, "nack timeout"), count(b.Failovers, "failover"), count(b.WriteFailures, "failed Raft write"),
		b.DeliveryLimit, map[int]string{1: "one priority", 2: "two priorities"}[b.Priorities], snapshot)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (c *Counterexample) writeText(out *strings.Builder, policy string) {
	fmt.Fprintf(out, "\n%s, %s: %s.\n", policy, c.Property, c.Detail)
	for i, s := range c.Steps {
		fmt.Fprintf(out, "%3d. %s\n", i+1, s)
	}
	if c.Script != "" {
		fmt.Fprintf(out, "\nThe same as a script for broker/testdata:\n\n%s", c.Script)
	}
}
