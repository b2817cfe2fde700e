package simnet

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/simctl/simctl/internal/virtualtest"
)

// TestMaxRPCsInFlight: who sends one request more than may be under way waits until the first is answered. Requests that follow one
// another count as one, also those that follow one that has waited.
func TestMaxRPCsInFlight(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		limit  int
		groups []int
		sent   string // when each group was, in milliseconds
	}{
		{0, []int{1, 1, 1, 1}, "[0 0 0 0]"},
		{2, []int{1, 1, 1, 1}, "[0 0 2 2]"},
		{2, []int{3, 2, 4, 1, 1}, "[0 0 2 2 4]"},
		{3, []int{1, 1, 2, 2}, "[0 0 0 2]"},
	} {
		virtualtest.Test(t, func(t *testing.T) {
			p := newPair(t, answers)
			p.a.MaxRPCsInFlight = tt.limit
			pipe, err := p.a.AppendEntriesPipeline("b", "b")
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			var sent []int64
			for _, requests := range tt.groups {
				var f raft.AppendFuture
				for i := range requests {
					f, err = pipe.AppendEntries(&raft.AppendEntriesRequest{Entries: []*raft.Log{{}}}, &raft.AppendEntriesResponse{})
					if err != nil {
						t.Fatal(err)
					}
					if i == 0 {
						sent = append(sent, f.Start().Sub(began).Round(ms/10).Milliseconds())
					} else if at := f.Start().Sub(began).Round(ms / 10).Milliseconds(); at != sent[len(sent)-1] {
						t.Errorf("limit %d: a request of the group of %d ms was sent after %d", tt.limit, sent[len(sent)-1], at)
					}
				}
				time.Sleep(5 * Turns)
			}
			if got := fmt.Sprint(sent); got != tt.sent {
				t.Errorf("limit %d: %v were sent after %s ms, want %s", tt.limit, tt.groups, got, tt.sent)
			}
			time.Sleep(10 * ms)
			synctest.Wait()
			if got := fmt.Sprint(p.received); got != fmt.Sprint(tt.groups) {
				t.Errorf("limit %d: stored together %s, want %v", tt.limit, got, tt.groups)
			}
		})
	}
}

// TestRoomAtOneInstant: who sends next is not chance when there is room for requests to two servers at one instant.
func TestRoomAtOneInstant(t *testing.T) {
	starts := func(first, second raft.ServerAddress) string {
		at := map[raft.ServerAddress]time.Duration{}
		virtualtest.Test(t, func(t *testing.T) {
			p := newPair(t, answers)
			p.a.MaxRPCsInFlight = 1
			pipes := map[raft.ServerAddress]*pipeline{}
			var sent [2]raft.AppendFuture
			var waiting sync.WaitGroup
			for _, to := range []raft.ServerAddress{"b", "c"} {
				pipe, err := p.a.AppendEntriesPipeline("", to)
				if err != nil {
					t.Fatal(err)
				}
				pipes[to] = pipe.(*pipeline)
				pipes[to].window.enter(time.Now())
			}
			time.Sleep(time.Millisecond)
			began := time.Now()
			for i, to := range []raft.ServerAddress{first, second} {
				waiting.Go(func() {
					sent[i], _ = pipes[to].AppendEntries(&raft.AppendEntriesRequest{}, &raft.AppendEntriesResponse{})
				})
				synctest.Wait() // it waits for room
				pipes[to].window.leave()
				synctest.Wait() // it has taken its instant
			}
			waiting.Wait()
			at[first], at[second] = sent[0].Start().Sub(began), sent[1].Start().Sub(began)
		})
		return fmt.Sprint(at)
	}
	if got, want := starts("c", "b"), starts("b", "c"); got != want {
		t.Errorf("sent after %s where c comes first, and %s where b does", got, want)
	}
}

// TestWaitingForRoomEnds: with the pipeline, and when it breaks.
func TestWaitingForRoomEnds(t *testing.T) {
	for name, end := range map[string]func(raft.AppendPipeline) error{
		"closed":   raft.AppendPipeline.Close,
		"it broke": func(raft.AppendPipeline) error { time.Sleep(callTimeout + time.Second); return nil },
	} {
		virtualtest.Test(t, func(t *testing.T) {
			p := newPair(t, nil) // who never answers
			p.a.MaxRPCsInFlight = 2
			pipe, err := p.a.AppendEntriesPipeline("b", "b")
			if err != nil {
				t.Fatal(err)
			}
			failed := make(chan error, 1)
			go func() {
				for {
					if _, err := pipe.AppendEntries(&raft.AppendEntriesRequest{Entries: []*raft.Log{{}}}, &raft.AppendEntriesResponse{}); err != nil {
						failed <- err
						return
					}
					time.Sleep(5 * Turns)
				}
			}()
			time.Sleep(time.Second)
			if len(failed) > 0 {
				t.Errorf("%s: it failed before: %v", name, <-failed)
			}
			if err := end(pipe); err != nil {
				t.Error(err)
			}
			if err := <-failed; !errors.Is(err, raft.ErrPipelineShutdown) {
				t.Errorf("%s: %v, want %v", name, err, raft.ErrPipelineShutdown)
			}
		})
	}
}

// TestWhatIsThere: who handles a request, or an answer, learns whether it had come while the one before was handled.
func TestWhatIsThere(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		p := newPair(t, answers)
		var requests, replies []bool
		p.b.recv = func(_ []*raft.Log, there bool) {
			requests = append(requests, there)
			time.Sleep(3 * oneWay)
		}
		p.a.Answered = func(_ string, there bool, heard func()) {
			replies = append(replies, there)
			time.Sleep(4 * oneWay)
			heard()
		}
		pipe, err := p.a.AppendEntriesPipeline("b", "b")
		if err != nil {
			t.Fatal(err)
		}
		for _, wait := range []time.Duration{oneWay, 20 * oneWay, 0} {
			if _, err := pipe.AppendEntries(&raft.AppendEntriesRequest{Entries: []*raft.Log{{}}}, &raft.AppendEntriesResponse{}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(wait)
		}
		time.Sleep(20 * oneWay)
		synctest.Wait()
		if want := []bool{false, true, false}; !slices.Equal(requests, want) || !slices.Equal(replies, want) {
			t.Errorf("requests %v, answers %v were there before, want %v for both", requests, replies, want)
		}
	})
}
