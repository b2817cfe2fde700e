package main

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/simctl/simctl/scenarios"
)

// terminal opens a pseudo-terminal and returns the side that programs write to.
func terminal(t *testing.T) *os.File {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = master.Close() })
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// TestTerminals checks that only a terminal gets colour and cursor movements, and that
// NO_COLOR turns colour off.
func TestTerminals(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	tty := terminal(t)
	for _, tt := range []struct {
		file           *os.File
		term, noColor  string
		terminal, want bool
	}{
		{tty, "xterm-256color", "", true, true},
		{tty, "xterm-256color", "1", true, false},
		{tty, "dumb", "", false, false},
		{null, "xterm-256color", "", false, false},
	} {
		t.Setenv("TERM", tt.term)
		t.Setenv("NO_COLOR", tt.noColor)
		if got := useColor(tt.file); got != tt.want {
			t.Errorf("%s with TERM=%s NO_COLOR=%s: colour %v, want %v", tt.file.Name(), tt.term, tt.noColor, got, tt.want)
		}
		show := newProgress(tt.file, false, true, []scenarios.Spec{{Scenario: "heartbeat-storm", Broker: "legacy"}})
		view, live := show.(*liveView)
		if live != tt.terminal || live && view.color != tt.want {
			t.Errorf("%s with TERM=%s NO_COLOR=%s: the display is a %T, want a live view: %v, in colour: %v",
				tt.file.Name(), tt.term, tt.noColor, show, tt.terminal, tt.want)
		}
	}
}
