package process

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/simctl/simctl/internal/rusage"
)

// died returns the error for a child that ended without a result, or with an error after it,
// such as that of the race detector.
func (c Child) died(state *os.ProcessState, result bool, why error, said string) error {
	if outOfMemory(state, said) {
		return fmt.Errorf("%s: the child process ran out of memory: it held %d MiB when it ended (%w); "+
			"lower the number of nodes or of evaluations, run fewer side by side, or end runs in time with --max-memory", c.name(), rusage.PeakRSSOf(state)>>20, why)
	}
	how := "ended without a result"
	if result {
		how = "ended with an error after its result"
	}
	return fmt.Errorf("%s: the child process %s (%w); it said: %s", c.name(), how, cmp.Or(why, errors.New("exit status 0")), cmp.Or(said, "nothing"))
}

// outOfMemory reports whether a process ended for lack of memory: the Go runtime says so, and
// the kernel kills, which nobody else does but a user.
func outOfMemory(state *os.ProcessState, said string) bool {
	for _, fatal := range []string{"fatal error: out of memory", "fatal error: runtime: out of memory", "fatal error: runtime: cannot allocate memory"} {
		if strings.Contains(said, fatal) {
			return true
		}
	}
	return strings.HasPrefix(state.String(), "signal: killed")
}
