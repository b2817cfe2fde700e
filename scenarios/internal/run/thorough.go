package run

import (
	"context"
	"sync"
	"time"

	"github.com/simctl/simctl/scenarios/internal/judge"
)

// thorough looks at a run more closely than at most runs: it has clients that read, counts calls, and takes a hash of every
// event. It belongs to the goroutine of the run.
type thorough struct {
	sim   *Simulated
	trail *judge.Trail
	reads judge.Reads
	calls judge.Calls

	cancel context.CancelFunc
	ended  sync.WaitGroup
}

// Clients read at these intervals, which fall on no instant at which timers fire, and hold a state
// for slowFor.
const (
	readers  = 2
	readEach = 1_313_417_113 * time.Nanosecond
	holdEach = 9_113_417_131 * time.Nanosecond
	slowFor  = 20 * time.Second
)

// begin starts the clients.
func (t *thorough) begin(ctx context.Context) {
	ctx, t.cancel = context.WithCancel(ctx)
	for client := range readers {
		t.ended.Go(func() {
			for n := client; sleep(ctx, readEach+time.Duration(client)*7919*time.Microsecond); n++ {
				t.read(ctx, client, n/2%t.sim.Servers(), n%2 == 0)
			}
		})
	}
	t.ended.Go(func() {
		for n := 0; sleep(ctx, holdEach); n++ {
			t.hold(ctx, n%t.sim.Servers())
		}
	})
}

// end ends the clients and waits for them.
func (t *thorough) end() {
	t.cancel()
	t.ended.Wait()
}

// read reads the index of the state through a server. A read that fails says nothing.
func (t *thorough) read(ctx context.Context, client, server int, stale bool) {
	acked := t.sim.Acknowledged()
	v, err := t.sim.View(ctx, server, stale)
	if err != nil {
		return
	}
	t.reads.See(judge.Read{Client: client, Server: server, Stale: stale, Life: v.Store, SetBack: v.SetBack, Acked: acked, Index: v.Index})
}

// hold holds a server's state for as long as a slow reader takes.
func (t *thorough) hold(ctx context.Context, server int) {
	snap := t.sim.State(server).Snapshot()
	print := snap.Fingerprint()
	sleep(ctx, slowFor)
	t.reads.Held(snap, print)
}

// sleep reports whether the context goes on after a while.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}
