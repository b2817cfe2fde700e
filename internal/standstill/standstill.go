package standstill

import (
	"fmt"
	"runtime"
	"strings"
	"time"
)

// Watch looks at a bubble from outside, again and again. It reads no clock: whoever calls Look says how much
// time has passed. So the time for which the process was suspended does not count.
type Watch struct {
	// Limit is how long virtual time may stand still: in wall time if nothing is computed
	// meanwhile, and else in processor time. Computing takes no virtual time, so it must be
	// longer than any stretch of computing.
	Limit time.Duration

	beats    uint64
	quiet    time.Duration
	computed time.Duration // processor time at the latest beat
	looked   bool
}

// Look reports whether virtual time stands still. Beats counts what has shown so far that it
// moves, passed is the wall time since the last look, and cpu the processor time of the process.
//
// A process that gets a tenth of a processor on a busy machine is slow, and nothing else.
func (w *Watch) Look(beats uint64, passed, cpu time.Duration) bool {
	if !w.looked || beats != w.beats {
		w.looked, w.beats, w.quiet, w.computed = true, beats, 0, cpu
		return false
	}
	w.quiet += passed
	spent := cpu - w.computed
	return w.quiet >= w.Limit && (spent < w.quiet/100 || spent >= w.Limit)
}

// most is how many goroutines Holding prints in full.
const most = 20

// Holding returns the stacks of the goroutines in bubbles that hold up virtual time, because
// they compute or wait for what a bubble does not know, such as a mutex. It says how many
// others there are.
func Holding() string {
	holding, others := split(Stacks())
	if len(holding) == 0 {
		return fmt.Sprintf("none of %d goroutines holds virtual time up at the moment", others)
	}
	cut := ""
	if n := len(holding) - most; n > 0 {
		holding, cut = holding[:most], fmt.Sprintf("\n\n%d more like these", n)
	}
	return fmt.Sprintf("%s%s\n\n%d other goroutines wait for virtual time or for nothing in the bubble", strings.Join(holding, "\n\n"), cut, others)
}

// split returns those of the stacks that hold up virtual time, and counts the rest. In the
// header of a goroutine the runtime says whether it is durably blocked in a bubble.
func split(stacks string) (holding []string, others int) {
	for _, stack := range strings.Split(strings.TrimSpace(stacks), "\n\n") {
		header, _, _ := strings.Cut(stack, "\n")
		if strings.Contains(header, "synctest bubble") && !strings.Contains(header, "(durable)") {
			holding = append(holding, stack)
		} else {
			others++
		}
	}
	return holding, others
}

// Stacks returns the stacks of all goroutines, cut off at 4 MiB.
func Stacks() string {
	buf := make([]byte, 4<<20)
	return string(buf[:runtime.Stack(buf, true)])
}
