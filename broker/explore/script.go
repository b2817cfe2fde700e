package explore

import (
	"fmt"
	"strings"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/broker/internal/script"
	"github.com/simctl/simctl/internal/interleave"
)

// recorder records what a world does to its broker, in the language of package script. A
// nil recorder records nothing.
type recorder struct {
	steps      []string // in words
	lines      []string
	deliveries int
}

func (r *recorder) line(format string, args ...any) {
	if r != nil {
		r.lines = append(r.lines, fmt.Sprintf(format, args...))
	}
}

// begin starts a step with a comment.
func (r *recorder) begin(w *world, s step) {
	if r == nil {
		return
	}
	text := w.describe(s)
	r.steps = append(r.steps, text)
	r.line("# %s.", strings.ToUpper(text[:1])+text[1:])
}

func (r *recorder) enqueue(e *broker.Evaluation) {
	if r == nil {
		return
	}
	line := fmt.Sprintf("enqueue id=%s job=%s type=%s create=%d", e.ID, e.JobID, e.Type, e.CreateIndex)
	if e.Priority != 50 {
		line += fmt.Sprintf(" priority=%d", e.Priority)
	}
	if e.Wait > 0 {
		line += fmt.Sprintf(" wait=%v", e.Wait)
	}
	r.line("%s", line)
}

// delivered returns the name that the script will have for the next token.
func (r *recorder) delivered() string {
	if r == nil {
		return ""
	}
	r.deliveries++
	return fmt.Sprintf("t%d", r.deliveries)
}

// render runs the recorded lines under the policy and returns them as a transcript, with
// the broker's answers, that ends with its state.
func (r *recorder) render(p broker.Policy, bounds Bounds, v *interleave.Violation) string {
	env := script.New(p)
	var out strings.Builder
	fmt.Fprintf(&out, "# Policy %s violates %q:\n# %s.\n", p, v.Property, v.Detail)
	run := func(line string) {
		fmt.Fprintf(&out, "\n%s\n----\n%s\n", line, env.Exec(line, ""))
	}
	if _, err := broker.PolicyByName(p.String()); err == nil {
		// The transcript then runs anywhere under this policy.
		fmt.Fprintf(&out, "\npolicies %s\n----\n", p)
	}
	run(fmt.Sprintf("config nack-timeout=%v initial-delay=%v subsequent-delay=%v delivery-limit=%d",
		nackTimeout, redeliveryDelay, redeliveryDelay, bounds.DeliveryLimit))
	for _, line := range append(r.lines, "state") {
		if strings.HasPrefix(line, "#") {
			fmt.Fprintf(&out, "\n%s", line)
		} else {
			run(line)
		}
	}
	return out.String()
}
