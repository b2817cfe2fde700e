package bubble

import (
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/simctl/simctl/scenarios/internal/garbage"
)

func TestTimeIsVirtual(t *testing.T) {
	err := Run(context.Background(), 0, func(ctx context.Context, w *World) error {
		start := time.Now()
		if want := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC); !start.Equal(want) {
			t.Errorf("virtual time begins at %v, want %v", start, want)
		}
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() { time.Sleep(time.Duration(i) * time.Hour / 2) })
		}
		wg.Wait()
		if got := time.Since(start); got != 9*time.Hour/2 {
			t.Errorf("%v passed, want 4h30m", got)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestErrorsComeOut(t *testing.T) {
	want := errors.New("no leader")
	if err := Run(context.Background(), 0, func(context.Context, *World) error { return want }); !errors.Is(err, want) {
		t.Errorf("Run returned %v, want the function's error", err)
	}
}

// TestRunsGoOnAlone: two at a time would share Raft's source of random numbers, and repeat no more.
func TestRunsGoOnAlone(t *testing.T) {
	var second error
	first := Run(t.Context(), 0, func(context.Context, *World) error {
		second = Run(t.Context(), 0, func(context.Context, *World) error { return nil })
		return nil
	})
	third := Run(t.Context(), 0, func(context.Context, *World) error { return nil })
	if first != nil || third != nil || second == nil || !strings.Contains(second.Error(), "another run") {
		t.Errorf("a run: %v; one in it: %v; one after it: %v", first, second, third)
	}
}

func TestPanicBecomesAnError(t *testing.T) {
	err := Run(context.Background(), 0, func(ctx context.Context, w *World) error {
		go func() { <-ctx.Done() }() // ends although the function never came to it
		panic("broken")
	})
	wantText(t, err, "panic: broken", "bubble_test.go")
}

func TestDeadlockBecomesAnError(t *testing.T) {
	err := Run(context.Background(), 0, func(context.Context, *World) error {
		go func() { select {} }()
		return nil
	})
	wantText(t, err, "deadlock", "goroutine ")
}

func TestStallBecomesAnError(t *testing.T) {
	// Waiting for a mutex is not durable: virtual time stops. Released at the end, so that
	// the bubble can be left.
	var mu sync.Mutex
	mu.Lock()
	left := make(chan struct{})
	err := Run(context.Background(), 3*pollWall, func(context.Context, *World) error {
		defer close(left)
		mu.Lock()
		defer mu.Unlock()
		return nil
	})
	wantText(t, err, "virtual time stood still for 150ms", "sync.(*Mutex).Lock")
	mu.Unlock()
	<-left
}

// TestLoopAtOneInstantIsNamed: the error has the stack of the goroutine that computes, and not
// those of others.
func TestLoopAtOneInstantIsNamed(t *testing.T) {
	left := make(chan struct{})
	var stop atomic.Bool
	err := Run(context.Background(), 3*pollWall, func(context.Context, *World) error {
		defer close(left)
		go func() { time.Sleep(time.Hour) }()
		loopsUntil(&stop)
		return nil
	})
	wantText(t, err, "virtual time stood still for 150ms", "loopsUntil", "other goroutines")
	if strings.Contains(err.Error(), "time.Sleep") {
		t.Errorf("the error has goroutines that wait for virtual time:\n%v", err)
	}
	stop.Store(true)
	<-left
}

func loopsUntil(stop *atomic.Bool) {
	for !stop.Load() {
		runtime.Gosched()
	}
}

// TestSilenceBecomesAnError: virtual time that passes without end is no progress.
func TestSilenceBecomesAnError(t *testing.T) {
	var stop atomic.Bool
	left := make(chan struct{})
	err := Run(context.Background(), 0, func(_ context.Context, w *World) error {
		defer close(left)
		for range 2 {
			time.Sleep(silence * 2 / 3)
			w.Alive()
		}
		for !stop.Load() {
			time.Sleep(time.Minute)
		}
		return nil
	})
	wantText(t, err, "6h0m0s of virtual time passed in which the run did not go on", "TestSilenceBecomesAnError")
	stop.Store(true)
	<-left
}

// TestGarbageIsCollected between two instants, when it is due.
func TestGarbageIsCollected(t *testing.T) {
	defer garbage.Tune(garbage.Heap{}, 2)()
	collections := func() uint32 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.NumForcedGC
	}
	live := make([]byte, 64<<20)
	runtime.GC() // so that Go knows how much is live
	before := collections()
	err := Run(t.Context(), 0, func(_ context.Context, w *World) error {
		for wall := w.Wall(); collections() == before; time.Sleep(time.Second) {
			w.Alive()
			if w.Wall()-wall > time.Minute {
				return errors.New("garbage is due and nobody collects it")
			}
			sink = make([]byte, 64<<10)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	runtime.KeepAlive(live)
}

var sink []byte

func TestCancellationGetsIn(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := Run(ctx, 0, func(ctx context.Context, _ *World) error {
		<-ctx.Done()
		return ctx.Err()
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Run returned %v, want the cancellation", err)
	}
}

// What synctest.Test does with a zero testing.T is not promised. Should a Go release
// write something, register flags or refuse it, this is where it shows.
func TestZeroTLeavesTheProcessAlone(t *testing.T) {
	flags := 0
	flag.VisitAll(func(*flag.Flag) { flags++ })
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, stderr := os.Stdout, os.Stderr
	os.Stdout, os.Stderr = write, write
	err = Run(context.Background(), 0, func(context.Context, *World) error { time.Sleep(time.Hour); return nil })
	os.Stdout, os.Stderr = stdout, stderr
	if err != nil {
		t.Fatal(err)
	}
	if err := write.Close(); err != nil {
		t.Fatal(err)
	}
	if out, err := io.ReadAll(read); err != nil || len(out) > 0 {
		t.Errorf("a run wrote %q (%v), want nothing", out, err)
	}
	after := 0
	flag.VisitAll(func(*flag.Flag) { after++ })
	if after != flags {
		t.Errorf("%d flags after a run, %d before", after, flags)
	}
	if t.Failed() {
		return
	}
	// And it can be done again.
	if err := Run(context.Background(), 0, func(context.Context, *World) error { return nil }); err != nil {
		t.Errorf("a second run: %v", err)
	}
}

func wantText(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error does not say %q:\n%.2000s", p, err)
		}
	}
}
