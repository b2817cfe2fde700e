package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/simctl/simctl/internal/walltest"
	"github.com/simctl/simctl/scenarios/serve"
)

// namedStandIn is the name under which the test program is a stand-in for Nomad: with the release that it says, its
// broker, and the pace of its timers.
const namedStandIn = "nomad %s %s %g"

// TestMain makes the test program a stand-in for Nomad if it is called like one: the cluster that simctl serve serves.
func TestMain(m *testing.M) {
	var release, broker string
	var pace float64
	if _, err := fmt.Sscanf(filepath.Base(os.Args[0]), namedStandIn, &release, &broker, &pace); err != nil {
		walltest.Main(m)
	}
	if os.Args[1] == "version" {
		fmt.Printf("Nomad v%s (simulated)\n", release)
	} else if err := standIn(strings.TrimPrefix(os.Args[2], "-config="), broker, pace); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// standIn serves one server until it is interrupted.
func standIn(config, broker string, pace float64) error {
	text, err := os.ReadFile(config)
	if err != nil {
		return err
	}
	var c struct {
		Advertise struct{ HTTP, RPC string }
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT)
	defer stop()
	return serve.Run(ctx, serve.Options{
		Servers: 1, Broker: broker, Seed: 1, TimeScale: pace, HTTPAddr: c.Advertise.HTTP, RPCAddr: c.Advertise.RPC,
		Log: slog.New(slog.DiscardHandler),
	}, func(serve.Where) {})
}

// TestFindings: on simulated servers comes out what the findings' pages say of real ones, or of mended ones where the
// broker has not the defect.
func TestFindings(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const then = `(.|\n)*`
	for _, tt := range []struct {
		finding, release, broker string
		pace                     float64
		want                     string
	}{
		{"forgotten-plan", "2.0.5", "2.0.5", 1, `\n0 of 184 nodes`},
		{"last-slot-peek", "1.4.3", "shedding+last-slot-peek", 1, `delivered: batch-50, service-90, service-10`},
		{"last-slot-peek", "1.4.3", "1.4.3", 1, `delivered: service-90, batch-50, service-10`},
		{"nacked-plan", "2.0.5", "2.0.5", 1, `of a job of one allocation should run: \[a\.g\[0\] a\.g\[0\]\]`},
		{"overfilled-nodes", "1.4.3", "1.4.3", 1, `the plan of a: written` + then + `the plan of b: refused` + then + `room for 2: \[a\.\S+ a\.\S+\]\n`},
		{"paused-reaper", "1.4.3", "1.4.3", 0.1, `before, .* failed .* the broker has 0` + then + `after, .* failed .* the broker has 0`},
		{"refused-again", "1.4.3", "1.4.3", 1, `184 plans refused for another`},
		{"shed-ids-stay", "2.0.5", "2.0.5", 0.1, `before: of 10 evaluations that were processed 10 are in` + then + `after: of 10`},
		{"stale-verification", "1.4.3", "1.4.3", 1, `after the node was down: refused` + then + `the node is down, and should run \[\]`},
	} {
		t.Run(tt.finding+" "+tt.broker, func(t *testing.T) {
			t.Parallel()
			bin := filepath.Join(t.TempDir(), fmt.Sprintf(namedStandIn, tt.release, tt.broker, tt.pace))
			if err := os.Symlink(self, bin); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := run(t.Context(), bin, trials[tt.finding], conditions{&out, 100, tt.pace}); err != nil {
				t.Fatalf("%v\n%s", err, &out)
			}
			if !regexp.MustCompile(tt.want).Match(out.Bytes()) {
				t.Errorf("want %s\n%s", tt.want, &out)
			}
		})
	}
}

// TestPages: every finding that can be tried has a page that says how.
func TestPages(t *testing.T) {
	for name := range trials {
		page, err := os.ReadFile(filepath.Join("..", "..", "docs", "findings", name+".md"))
		if command := "go run ./internal/realfindings -bin nomad-2.0.5 " + name + "\n"; err != nil || !strings.Contains(string(page), command) {
			t.Errorf("the page of %s does not say %q (%v)", name, command, err)
		}
	}
}

// TestFailures: a trial ends with the first of its failures, and other panics stay panics.
func TestFailures(t *testing.T) {
	var ran atomic.Int32
	fails := func(f func()) (err error) {
		defer caught(&err)
		f()
		return nil
	}
	err := fails(func() {
		each(100, func(i int) {
			ran.Add(1)
			if i == 50 {
				check(errors.New("number 50"))
			}
		})
	})
	if err == nil || err.Error() != "number 50" || ran.Load() != 100 {
		t.Errorf("%v after %d of 100", err, ran.Load())
	}
	l := &lab{ctx: t.Context(), conditions: conditions{pace: 0.1}}
	if err := fails(func() { l.await("rain", time.Millisecond, func() bool { return false }) }); err == nil || err.Error() != "rain is not so after 1ms" {
		t.Errorf("waited in vain: %v", err)
	}
	defer func() {
		if r := recover(); r != "a bug" {
			t.Errorf("recovered %v", r)
		}
	}()
	_ = fails(func() { panic("a bug") })
}
