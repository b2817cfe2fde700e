// Package walltest runs tests that wait for the wall clock side by side: for elections, ticks and
// processes, which take no processor.
//
// Only tests import it. It must not import anything that is tested with it.
package walltest

import (
	"flag"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// Election is how long a server that is alone waits before it elects itself, at most twice as long. No pause of a busy
// machine can make it lose an election, so it need not wait the second that servers wait for each other.
const Election = 50 * time.Millisecond

// Main is goleak.VerifyTestMain for tests that go on side by side.
func Main(m *testing.M) {
	SideBySide()
	goleak.VerifyTestMain(m)
}

// SideBySide lets eight tests that call t.Parallel go on at a time, and not as many as there are
// processors, unless go test is told otherwise.
func SideBySide() {
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
}
