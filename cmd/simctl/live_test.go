package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/simctl/simctl/internal/virtualtest"
	"github.com/simctl/simctl/scenarios"
)

// screen is the part of a terminal that the live view needs: it moves up, clears below,
// and writes lines.
type screen struct {
	lines []string
	row   int
}

func (s *screen) write(t *testing.T, text string) {
	t.Helper()
	for text != "" {
		switch {
		case strings.HasPrefix(text, "\x1b["):
			end := strings.IndexAny(text[2:], "AJlhm")
			if end < 0 {
				t.Fatalf("an escape sequence without an end: %q", text)
			}
			switch arg := text[2 : 2+end]; text[2+end] {
			case 'A':
				up := 0
				for _, digit := range arg {
					up = 10*up + int(digit-'0')
				}
				if s.row -= up; s.row < 0 {
					t.Fatalf("moved %d lines up, out of the screen", up)
				}
			case 'J':
				s.lines = s.lines[:s.row]
			}
			text = text[2+end+1:]
		default:
			line, rest, whole := strings.Cut(text, "\n")
			if !whole {
				t.Fatalf("half a line: %q", line)
			}
			s.lines = append(s.lines, line)
			s.row = len(s.lines)
			text = rest
		}
	}
}

func TestLiveViewDrawsOverItself(t *testing.T) { virtualtest.Test(t, testLiveViewDrawsOverItself) }

func testLiveViewDrawsOverItself(t *testing.T) {
	var out bytes.Buffer
	v := newLiveView(&out, false, []string{"legacy", "shedding"})
	terminal := &screen{lines: []string{"$ simctl watch"}, row: 1}
	p := scenarios.Progress{Phase: "drain", PhaseIndex: 1, Phases: 3, VirtualS: 7, Pending: 1234, RaftIndex: 99, Done: 0.5,
		Nodes: map[string]int{"ready": 50}}
	shown := func() string {
		terminal.write(t, out.String())
		out.Reset()
		return strings.Join(terminal.lines, "\n")
	}
	v.update(1, p)
	if got := shown(); len(terminal.lines) != 9 || !strings.Contains(got, "shedding drain (2 of 3) at 0:07.0") || !strings.Contains(got, "legacy starting") {
		t.Errorf("the first frame is\n%s", got)
	}
	time.Sleep(liveEvery - 1)
	p.Pending = 1100
	if v.update(1, p); out.Len() > 0 {
		t.Error("drawn again too soon")
	}
	time.Sleep(time.Nanosecond)
	p.Pending, p.VirtualS = 1000, 9
	v.update(1, p)
	if got := shown(); len(terminal.lines) != 9 || terminal.lines[0] != "$ simctl watch" || !strings.Contains(got, " 1,000 ") || strings.Contains(got, "1,234 ") {
		t.Errorf("the second frame did not replace the first:\n%s", got)
	}
	p.Pending, p.VirtualS = 0, 10
	v.update(1, p)
	v.close()
	if got := shown(); len(terminal.lines) != 9 || !strings.Contains(got, "at 0:10") {
		t.Errorf("the last frame does not show the last sample:\n%s", got)
	}
}

// TestProgressDisplays checks that a stderr that is not a terminal gets lines, whatever the
// clock, and that --quiet prints nothing.
func TestProgressDisplays(t *testing.T) {
	runs := []scenarios.Spec{{Scenario: "heartbeat-storm", Broker: "legacy"}}
	if _, ok := newProgress(&bytes.Buffer{}, false, true, runs).(*statusLines); !ok {
		t.Error("no status lines where stderr is no terminal")
	}
	if _, ok := newProgress(&bytes.Buffer{}, true, true, runs).(silence); !ok {
		t.Error("--quiet is not quiet")
	}
}
