package simnet

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/simctl/simctl/internal/virtualtest"
)

// TestPipelines: requests go one after the other, while more are on their way, and take the
// link's time there and back. The other end stores together what was sent together, up to what
// is one request in Raft.
func TestPipelines(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		p := newPair(t, answers)
		pipe, err := p.a.AppendEntriesPipeline("b", "b")
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for term := range uint64(3) {
			if _, err := pipe.AppendEntries(&raft.AppendEntriesRequest{Term: term, Entries: []*raft.Log{{}}}, &raft.AppendEntriesResponse{}); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took > time.Microsecond {
			t.Errorf("sending took %v", took)
		}
		for term := range uint64(3) {
			f := <-pipe.Consumer()
			if err := f.Error(); err != nil || f.Request().Term != term || f.Response().Term != 9 || f.Start().Sub(began) > time.Microsecond {
				t.Errorf("answer %d: %+v to %+v, %v", term, f.Response(), f.Request(), err)
			}
			if took := time.Since(began); took < 2*oneWay || took > 2*oneWay+time.Microsecond {
				t.Errorf("answer %d after %v, want %v", term, took, 2*oneWay)
			}
		}
		if fmt.Sprint(p.received) != "[3]" {
			t.Errorf("charged for %v entries, want three together", p.received)
		}
		p.received = nil
		for _, entries := range []int{40, 24, 1} {
			if _, err := pipe.AppendEntries(&raft.AppendEntriesRequest{Entries: slices.Repeat([]*raft.Log{{}}, entries)}, &raft.AppendEntriesResponse{}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(10 * Turns)
		if _, err := pipe.AppendEntries(&raft.AppendEntriesRequest{Entries: []*raft.Log{{}}}, &raft.AppendEntriesResponse{}); err != nil {
			t.Fatal(err)
		}
		for range 4 {
			if err := (<-pipe.Consumer()).Error(); err != nil {
				t.Fatal(err)
			}
		}
		if fmt.Sprint(p.received) != "[64 1 1]" {
			t.Errorf("charged for %v entries, want 64 together, one, and one sent later", p.received)
		}
		if err := pipe.Close(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if _, err := pipe.AppendEntries(&raft.AppendEntriesRequest{}, &raft.AppendEntriesResponse{}); !errors.Is(err, raft.ErrPipelineShutdown) {
			t.Errorf("on a closed pipeline: %v", err)
		}
	})
}

// TestPipelinesThatBreak: a request that fails is the last. Who sends another is told so, and so is
// the leader of a term that has ended.
func TestPipelinesThatBreak(t *testing.T) {
	refused := errors.New("refused")
	for _, tt := range []struct {
		name    string
		respond func(raft.RPC)
		before  func(*pair)
		err     error // of the first
		took    time.Duration
	}{
		{"refused", func(rpc raft.RPC) { rpc.Respond(nil, refused) }, func(*pair) {}, refused, oneWay},
		{"answered with something else", func(rpc raft.RPC) { rpc.Respond(7, nil) }, func(*pair) {}, errAny, oneWay},
		{"not answered", nil, func(*pair) {}, ErrUnreachable, oneWay + callTimeout},
		{"nobody there", answers, func(p *pair) { delete(p.net.nodes, "b") }, ErrUnreachable, oneWay},
		{"lost", answers, func(p *pair) { p.net.Disturb(Fault{From: []string{"a"}, Link: Link{Loss: 1}}) }, ErrUnreachable, oneWay + callTimeout},
	} {
		t.Run(tt.name, func(t *testing.T) {
			virtualtest.Test(t, func(t *testing.T) {
				p := newPair(t, tt.respond)
				tt.before(p)
				pipe, err := p.a.AppendEntriesPipeline("b", "b")
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				send := func() (raft.AppendFuture, error) {
					return pipe.AppendEntries(&raft.AppendEntriesRequest{Term: 1}, &raft.AppendEntriesResponse{})
				}
				f, err := send()
				if err != nil {
					t.Fatal(err)
				}
				if err := f.Error(); err == nil || tt.err != errAny && !errors.Is(err, tt.err) {
					t.Errorf("the first: %v, want %v", err, tt.err)
				}
				if took := time.Since(began); took < tt.took || took > tt.took+2*time.Millisecond {
					t.Errorf("it failed after %v, want %v", took, tt.took)
				}
				for err == nil { // there is room for some
					_, err = send()
				}
				if !errors.Is(err, raft.ErrPipelineShutdown) {
					t.Errorf("later ones: %v, want %v", err, raft.ErrPipelineShutdown)
				}
			})
		})
	}
	virtualtest.Test(t, func(t *testing.T) {
		p := newPair(t, answers)
		p.a.Listen(func(term uint64) bool { return term == 5 })
		pipe, err := p.a.AppendEntriesPipeline("b", "b")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := pipe.AppendEntries(&raft.AppendEntriesRequest{Term: 4, Entries: []*raft.Log{{}}}, &raft.AppendEntriesResponse{}); !errors.Is(err, raft.ErrPipelineShutdown) {
			t.Errorf("of a leadership that has ended: %v", err)
		}
		time.Sleep(time.Second)
		if len(p.received) > 0 {
			t.Errorf("a request of a leadership that has ended was sent")
		}
	})
}

// TestFullPipelines: who waits for room in a pipeline is told when it ends, and hears nothing from a
// server that has died until that is closed.
func TestFullPipelines(t *testing.T) {
	for name, end := range map[string]func(*pair, raft.AppendPipeline){
		"closed": func(_ *pair, pipe raft.AppendPipeline) { _ = pipe.Close() }, // it always is nil
		"ended":  func(p *pair, _ raft.AppendPipeline) { p.a.Cut(); time.Sleep(time.Second); p.a.cancel() },
	} {
		for range 10 { // whatever the runtime chooses
			virtualtest.Test(t, func(t *testing.T) {
				p := newPair(t, nil) // which answers nothing
				pipe, err := p.a.AppendEntriesPipeline("b", "b")
				if err != nil {
					t.Fatal(err)
				}
				time.AfterFunc(time.Second, func() { end(p, pipe) })
				sent := 0
				for ; err == nil; sent++ {
					var f raft.AppendFuture
					if f, err = pipe.AppendEntries(&raft.AppendEntriesRequest{Term: 1}, &raft.AppendEntriesResponse{}); err == nil && f == nil {
						t.Fatal("a request came to nothing without an error")
					}
				}
				if !errors.Is(err, raft.ErrPipelineShutdown) || sent < maxInFlight {
					t.Errorf("%s, after %d requests: %v", name, sent, err)
				}
			})
		}
	}
	virtualtest.Test(t, func(t *testing.T) {
		p := newPair(t, answers)
		pipe, err := p.a.AppendEntriesPipeline("b", "b")
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Nanosecond, p.a.Cut) // in b's turn, which is the second
		time.AfterFunc(time.Second, p.a.cancel)
		began := time.Now()
		_, err = pipe.AppendEntries(&raft.AppendEntriesRequest{Term: 1}, &raft.AppendEntriesResponse{})
		if !errors.Is(err, ErrUnreachable) || time.Since(began) != time.Second {
			t.Errorf("a server that died while it sent: %v after %v", err, time.Since(began))
		}
	})
}

// pipeline opens one from a to b, and returns it and what sends it a request with an entry.
func (p *pair) pipeline(t *testing.T) (pipe raft.AppendPipeline, send func() error) {
	pipe, err := p.a.AppendEntriesPipeline("b", "b")
	if err != nil {
		t.Fatal(err)
	}
	return pipe, func() error {
		_, err := pipe.AppendEntries(&raft.AppendEntriesRequest{Term: 1, Entries: []*raft.Log{{}}}, &raft.AppendEntriesResponse{})
		return err
	}
}

// TestABrokenPipeline takes no more requests, although Raft has yet to hear of the one that failed: its answer comes
// after one that is still on its way.
func TestABrokenPipeline(t *testing.T) {
	for range 20 {
		virtualtest.Test(t, func(t *testing.T) {
			p := newPair(t, answers)
			pipe, send := p.pipeline(t)
			for range 2 {
				if err := send(); err != nil {
					t.Fatal(err)
				}
				time.Sleep(oneWay / 2)
			}
			time.Sleep(oneWay / 4) // the first has arrived, and the second has not
			p.b.Cut()
			time.Sleep(oneWay / 2)
			if len(pipe.Consumer()) > 0 {
				t.Fatal("the first answer is here already")
			}
			if err := send(); !errors.Is(err, raft.ErrPipelineShutdown) {
				t.Fatalf("a request after one that failed: %v, want %v", err, raft.ErrPipelineShutdown)
			}
		})
	}
}

// TestARefusedPipeline takes no more requests, and reads no more answers, although Raft has yet to close it.
func TestARefusedPipeline(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		p := newPair(t, func(rpc raft.RPC) { rpc.Respond(&raft.AppendEntriesResponse{Term: 1}, nil) })
		read := 0
		p.a.Answered = func(_ string, _ bool, heard func()) {
			read++
			time.Sleep(time.Millisecond)
			heard()
		}
		pipe, send := p.pipeline(t)
		for range 2 {
			if err := send(); err != nil {
				t.Fatal(err)
			}
		}
		if f := <-pipe.Consumer(); f.Response().Success {
			t.Fatal("the follower accepts")
		}
		if err := send(); !errors.Is(err, raft.ErrPipelineShutdown) {
			t.Errorf("a request after the answer: %v, want %v", err, raft.ErrPipelineShutdown)
		}
		time.Sleep(time.Second)
		if read != 1 || len(pipe.Consumer()) > 0 {
			t.Errorf("%d answers were read, of which Raft has yet to see %d; want one, which it has seen", read, len(pipe.Consumer()))
		}
	})
}
