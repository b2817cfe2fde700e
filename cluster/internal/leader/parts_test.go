package leader

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/config"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
	"github.com/simctl/simctl/internal/virtualtest"
)

// TestStoppedBatches: who waits for a batch that is being gathered hears that the server leads no
// more, and a batch that is gathered later is written.
func TestStoppedBatches(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var written []string
		b := NewBatcher(time.Second, func(all *string, one string) { *all += one }, func(all string) (uint64, error) {
			mu.Lock()
			defer mu.Unlock()
			written = append(written, all)
			return uint64(len(written)), nil
		})
		dropped := b.Add("", "a")
		b.Stop()
		b.Stop()
		if _, err := dropped.Wait(); !errors.Is(err, errNotLeading) {
			t.Errorf("what was being gathered: %v, want %v", err, errNotLeading)
		}
		next := b.Add("", "b")
		b.Add("", "c")
		time.Sleep(time.Second - 1)
		mu.Lock()
		if len(written) > 0 {
			t.Errorf("%v written before the window ends", written)
		}
		mu.Unlock()
		if index, err := next.Wait(); index != 1 || err != nil || !slices.Equal(written, []string{"bc"}) {
			t.Errorf("%v written at %d, %v; want b and c together", written, index, err)
		}
		b.Wait()
	})
}

// TestLine: who waits is served in order of arrival, unless they leave; a copy is a line of its own.
func TestLine(t *testing.T) {
	var l Line[string]
	for _, who := range []string{"a", "b", "c"} {
		l.Join(who, []string{"service"})
	}
	other := l.Clone()
	if !l.Leave("b") || l.Leave("b") {
		t.Error("b does not leave once")
	}
	now := time.Unix(1_700_000_000, 0)
	b := broker.New(broker.Config{})
	b.SetEnabled(now, true)
	b.Enqueue(now, evaluation("e"))
	b.Enqueue(now, evaluation("other", func(e *broker.Evaluation) { e.Type = "batch" }))
	var served []string
	l.Serve(b, now, func(who string, d broker.Delivery, err error) {
		served = append(served, fmt.Sprint(who, d.Eval.ID, err))
	})
	if got := fmt.Sprint(served, l.Tickets(), other.Tickets()); got != "[ae<nil>] [c] [a b c]" {
		t.Errorf("served, left, and in the copy: %s", got)
	}
}

// TestCallsAboutWhatIsNotOut: calls about a delivery need its token.
func TestCallsAboutWhatIsNotOut(t *testing.T) {
	s := NewEvalService(broker.Config{})
	defer s.Close()
	s.SetEnabled(true)
	s.Enqueue(evaluation("e"))
	_, token, err := s.Dequeue(t.Context(), []string{"service"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]func(id, token string) error{
		"ack": func(id, token string) error { _, err := s.Ack(id, token); return err }, "nack": s.Nack,
		"reset": s.OutstandingReset, "pause": s.PauseNackTimeout, "resume": s.ResumeNackTimeout,
	} {
		if err := call("e", "guessed"); !errors.Is(err, broker.ErrTokenMismatch) {
			t.Errorf("%s with another token: %v, want %v", name, err, broker.ErrTokenMismatch)
		}
		if err := call("unknown", token); !errors.Is(err, broker.ErrNotOutstanding) {
			t.Errorf("%s of what is not out: %v, want %v", name, err, broker.ErrNotOutstanding)
		}
	}
}

// TestWhoIsEnabled: broker and blocked evaluations work while the server leads, according to Raft,
// and are not paused. An observer hears when a leader's work is forgotten.
func TestWhoIsEnabled(t *testing.T) {
	l := newSoleLog(t)
	o := &flushes{}
	cfg := config.Config{Policy: broker.Legacy(), Observer: o}.WithDefaults()
	v := NewEvaluations(l, &cfg, 1)
	defer v.Broker.Close()
	pause := func(on bool) {
		l.update(func(tx *state.Tx) error {
			tx.SetSchedulerConfig(rpc.SchedulerConfig{PauseEvalBroker: on})
			return nil
		})
	}
	for _, step := range []struct {
		name             string
		follows, leading bool
		paused           bool
		enabled, restore bool
		flushes          int
	}{
		{name: "leadership was lost meanwhile", follows: true, leading: true},
		{name: "leads", leading: true, enabled: true, restore: true},
		{name: "leads on", leading: true, enabled: true},
		{name: "is paused", leading: true, paused: true, flushes: 1},
		{name: "goes on", leading: true, enabled: true, restore: true, flushes: 1},
		{name: "ceases to lead", flushes: 1},
		{name: "leads, paused", leading: true, paused: true, flushes: 1},
	} {
		l.follows = step.follows
		pause(step.paused)
		restore := v.SetEnabled(step.leading)
		if v.Broker.Enabled() != step.enabled || v.Blocked.isEnabled() != step.enabled || restore != step.restore || o.n != step.flushes {
			t.Errorf("%s: broker %v, blocked %v, restore %v, %d flushes; want %+v", step.name, v.Broker.Enabled(), v.Blocked.isEnabled(), restore, o.n, step)
		}
	}
	if _, err := v.Dequeue(canceled(t), []string{"service"}, 0, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("a worker that has ended dequeues: %v", err)
	}
}

func canceled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// flushes counts what an Observer is told of them.
type flushes struct {
	config.Observer
	n int
}

func (f *flushes) Flushed(time.Time) { f.n++ }

// TestRestoreOfTheBest: a new leader restores the best evaluation of each job and those that wait
// for a time, and sheds the others.
func TestRestoreOfTheBest(t *testing.T) {
	for _, best := range []bool{false, true} {
		l := newSoleLog(t)
		v := leading(t, l, config.Config{Design: config.DesignConfig{RestoreBest: best}})
		of := func(job string, change ...func(*broker.Evaluation)) func(*broker.Evaluation) {
			return func(e *broker.Evaluation) {
				e.JobID = job
				for _, f := range change {
					f(e)
				}
			}
		}
		waits := func(e *broker.Evaluation) { e.Wait = time.Hour }
		l.update(func(tx *state.Tx) error {
			return tx.UpsertEvals(evaluation("1", of("a")), evaluation("2", of("a", func(e *broker.Evaluation) { e.Priority = 70 })),
				evaluation("3", of("a")), evaluation("4", of("b")), evaluation("5", of("a", waits, func(e *broker.Evaluation) { e.Priority = 90 })), evaluation("6", of("c", waits)),
				evaluation("7", of("d", func(e *broker.Evaluation) { e.Status = broker.StatusComplete })))
		})
		l.update(func(tx *state.Tx) error {
			return tx.UpsertEvals(evaluation("8", of("e", func(e *broker.Evaluation) { e.Status = broker.StatusBlocked })))
		})
		v.Restore()
		var shed []string
		for _, e := range v.Broker.Cancelable(100) {
			shed = append(shed, e.ID)
		}
		slices.Sort(shed)
		got, want := fmt.Sprint(v.Broker.Stats().Ready, v.Broker.Stats().Pending, v.Broker.Stats().Waiting, v.Blocked.Size(), shed), "2 2 2 1 []"
		if best {
			want = "2 0 2 1 [1 3]"
		}
		if got != want {
			t.Errorf("restore the best %v: ready, pending, waiting, blocked and shed are %s, want %s", best, got, want)
		}
	}
}

// TestPeriodicJobsOfANewLeader: those that should have been launched since they last were, and
// none that was stopped.
func TestPeriodicJobsOfANewLeader(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		l := newSoleLog(t)
		for _, id := range []string{"missed", "in time", "stopped", "not periodic"} {
			j := &rpc.Job{Namespace: "default", ID: id, Type: rpc.JobTypeBatch, Periodic: &rpc.PeriodicConfig{Every: time.Minute}}
			switch id {
			case "in time":
				j.Periodic.Every = 24 * time.Hour
			case "stopped":
				j.Stop = true
			case "not periodic":
				j.Periodic = nil
			}
			l.update(func(tx *state.Tx) error { return tx.UpsertJob(j) })
			l.update(func(tx *state.Tx) error {
				tx.NoteLaunch(broker.JobID{Namespace: "default", ID: id}, time.Now().UnixNano(), true)
				return nil
			})
		}
		time.Sleep(3 * time.Minute)
		p := NewPeriodic(l, config.Habits{})
		var missed []string
		for _, job := range p.Start(l.Snapshot()) {
			missed = append(missed, job.ID)
		}
		if got := strings.Join(missed, ", "); got != "missed" || len(p.tracked) != 2 {
			t.Errorf("missed were %s, and %d are tracked; want one, and it and the one in time", got, len(p.tracked))
		}
		p.Stop()
	})
}
