package broker_test

import (
	"strings"
	"testing"

	"github.com/simctl/simctl/broker"
)

// TestStateCheck breaks each of the invariants in a state that is otherwise in order, and
// changes it in ways that break none.
func TestStateCheck(t *testing.T) {
	held := func(id, namespace, job string) broker.Held {
		return broker.Held{Eval: &broker.Evaluation{ID: id, Namespace: namespace, JobID: job}}
	}
	redelivered := held("r", "ns", "r")
	redelivered.Redelivery = true
	for _, tt := range []struct {
		name   string
		change func(s *broker.State)
		want   []string // a part of each line, in order
	}{
		{"in order", func(*broker.State) {}, nil},
		{"pending behind one that is unacked", func(s *broker.State) { s.Pending = append(s.Pending, held("p2", "ns", "b")) }, nil},
		{"pending behind a redelivery", func(s *broker.State) { s.Pending = append(s.Pending, held("p2", "ns", "r")) }, nil},
		{"one waits for its time, as many of a job may", func(s *broker.State) { s.Waiting = append(s.Waiting, held("w2", "ns", "a")) }, nil},
		{"a job of that name in another namespace", func(s *broker.State) { s.Ready = append(s.Ready, held("x", "other", "a")) }, nil},
		{"held twice", func(s *broker.State) { s.Pending = append(s.Pending, held("a", "ns", "a")) },
			[]string{`evaluation "a" of job "a" is both ready and pending`}},
		{"the last of all held twice", func(s *broker.State) { s.Waiting = append(s.Waiting, held("z", "ns", "z"), held("z", "ns", "z")) },
			[]string{`evaluation "z" of job "z" is both waiting and waiting`}},
		{"two in flight", func(s *broker.State) { s.Unacked = append(s.Unacked, held("a2", "ns", "a")) },
			[]string{`job "a" has two evaluations in flight, "a" and "a2"`}},
		{"one of them a redelivery", func(s *broker.State) { s.Ready = append(s.Ready, held("a2", "ns", "r")) },
			[]string{`job "r" has two evaluations in flight, "a2" and "r"`}},
		{"pending for ever", func(s *broker.State) { s.Pending = append(s.Pending, held("p2", "other", "b")) },
			[]string{`evaluation "p2" of job "b" is pending and nothing will make it ready`}},
		{"pending behind one that waits for its time", func(s *broker.State) { s.Pending = append(s.Pending, held("p2", "ns", "w")) },
			[]string{`evaluation "p2" of job "w" is pending and nothing will make it ready`}},
		{"wrong in two jobs", func(s *broker.State) {
			s.Pending = append(s.Pending, held("p2", "ns", "c"), held("p3", "ns", "d"))
		}, []string{`"p2" of job "c"`, `"p3" of job "d"`}},
		{"disabled", func(s *broker.State) { s.Enabled = false }, []string{"a disabled broker holds 6 evaluations"}},
		{"disabled with nothing but a cancelable one", func(s *broker.State) { *s = broker.State{Cancelable: s.Cancelable} },
			[]string{"a disabled broker holds 1 evaluations"}},
		{"disabled and empty", func(s *broker.State) { *s = broker.State{} }, nil},
	} {
		s := broker.State{
			Enabled: true, Ready: []broker.Held{held("a", "ns", "a")}, Unacked: []broker.Held{held("b", "ns", "b")},
			Waiting: []broker.Held{redelivered, held("w", "ns", "w")}, Pending: []broker.Held{held("p", "ns", "a")},
			Cancelable: []*broker.Evaluation{{ID: "c"}},
		}
		tt.change(&s)
		var got []string
		if err := s.Check(); err != nil {
			got = strings.Split(err.Error(), "\n")
		}
		if len(got) != len(tt.want) {
			t.Errorf("%s: %q, want %d lines", tt.name, got, len(tt.want))
			continue
		}
		for i, want := range tt.want {
			if !strings.Contains(got[i], want) {
				t.Errorf("%s: %q, want it to contain %q", tt.name, got[i], want)
			}
		}
	}
}

// TestReadStateAgain: a State that is read into forgets what it had.
func TestReadStateAgain(t *testing.T) {
	full := loaded(t, broker.Shedding())
	again := full.State()
	full.ReadState(&again)
	if want := full.State(); !same(again, want) {
		t.Errorf("read again:\n%s\nwant\n%s", describe(again), describe(want))
	}
	broker.New(broker.Config{}).ReadState(&again)
	if again.Enabled || len(again.Ready)+len(again.Unacked)+len(again.Waiting)+len(again.Pending)+len(again.Cancelable) > 0 {
		t.Errorf("that of a new broker has %s", describe(again))
	}
}
