package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/simctl/simctl/reports"
	"github.com/simctl/simctl/scenarios"
)

// liveRuns is the number of runs that a live view has room for on a terminal of 24 lines.
const liveRuns = 5

// liveEvery is the least time between two frames of the live view.
const liveEvery = 200 * time.Millisecond

// liveView follows runs on a terminal: it draws each frame of reports.Live over the one
// before. It writes whole lines only, so an interrupt leaves the terminal in order.
type liveView struct {
	w     io.Writer
	color bool

	mu    sync.Mutex
	live  *reports.Live
	drawn bool
	due   time.Time
}

func newLiveView(w io.Writer, color bool, names []string) *liveView {
	return &liveView{w: w, color: color, live: reports.NewLive(names...)}
}

func (v *liveView) update(run int, p scenarios.Progress) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.live.Add(run, reports.LiveSample{
		Phase: p.Phase, PhaseIndex: p.PhaseIndex, Phases: p.Phases, AtS: p.VirtualS, Done: p.Share(),
		Pending: p.Pending, Cancelable: p.Cancelable, RaftIndex: p.RaftIndex, Nodes: p.Nodes,
	})
	if now := time.Now(); !now.Before(v.due) {
		v.due = now.Add(liveEvery)
		v.draw()
	}
}

func (v *liveView) close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.draw()
}

// draw writes a frame in one piece. The terminal cuts lines that are too long for it: a
// wrapped line would take a row that Lines does not count.
func (v *liveView) draw() {
	const noWrap, wrap, clear = "\x1b[?7l", "\x1b[?7h", "\x1b[J"
	back := ""
	if v.drawn {
		back = fmt.Sprintf("\x1b[%dA", v.live.Lines())
	}
	v.drawn = true
	fmt.Fprint(v.w, back+clear+noWrap+v.live.Frame(reports.TableOptions{Color: v.color})+wrap)
}
