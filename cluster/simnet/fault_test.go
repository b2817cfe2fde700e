package simnet

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/simctl/simctl/internal/virtualtest"
)

func TestFaultsConcernTheLinksTheyName(t *testing.T) {
	cut := Link{Loss: 1}
	all := []string{"a", "b", "c", "client"}
	cases := []struct {
		name  string
		fault Fault
		cut   []string // "from to"; every other pair must pass
	}{
		{"two sides", Fault{From: []string{"a"}, To: []string{"b", "c"}, Link: cut}, []string{"a b", "a c", "b a", "c a"}},
		{"one way", Fault{From: []string{"a"}, To: []string{"b"}, OneWay: true, Link: cut}, []string{"a b"}},
		{"one from everybody else", Fault{From: []string{"a"}, Link: cut},
			[]string{"a b", "a c", "a client", "b a", "c a", "client a"}},
		{"a group keeps hearing itself", Fault{To: []string{"a", "b"}, Link: cut},
			[]string{"a c", "a client", "b c", "b client", "c a", "c b", "client a", "client b"}},
		{"nobody hears it", Fault{From: []string{"a"}, OneWay: true, Link: cut}, []string{"a b", "a c", "a client"}},
		{"every link", Fault{Link: cut}, []string{"a b", "a c", "a client", "b a", "b c", "b client",
			"c a", "c b", "c client", "client a", "client b", "client c"}},
		{"links that lose nothing", Fault{From: []string{"a"}, Link: Link{Latency: time.Second}}, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			n := New(1, Link{}, Link{})
			end := n.Disturb(c.fault)
			want := map[string]bool{}
			for _, pair := range c.cut {
				want[pair] = true
			}
			for _, from := range all {
				for _, to := range all {
					if got := n.lost(from, to, "x"); got != want[from+" "+to] {
						t.Errorf("%s to %s: lost %v", from, to, got)
					}
				}
			}
			end()
			end()
			for _, from := range all {
				for _, to := range all {
					if n.lost(from, to, "x") {
						t.Errorf("%s to %s: still lost after the end", from, to)
					}
				}
			}
		})
	}
}

func TestFaultsAddUp(t *testing.T) {
	n := New(1, Link{Latency: time.Millisecond, Loss: 0.5}, Link{})
	endSlow := n.Disturb(Fault{From: []string{"a"}, Link: Link{Latency: 10 * time.Millisecond, Jitter: 2 * time.Millisecond, Loss: 0.5}})
	endSlower := n.Disturb(Fault{Link: Link{Latency: 100 * time.Millisecond}})
	got := n.disturbed(n.link("a", "b"), "a", "b")
	if want := (Link{Latency: 111 * time.Millisecond, Jitter: 2 * time.Millisecond, Loss: 0.75}); got != want {
		t.Errorf("both faults make %+v, want %+v", got, want)
	}
	endSlow()
	got = n.disturbed(n.link("a", "b"), "a", "b")
	if want := (Link{Latency: 101 * time.Millisecond, Loss: 0.5}); got != want {
		t.Errorf("one of them makes %+v, want %+v", got, want)
	}
	endSlower()
	if n.faults.Load() != nil {
		t.Error("without a fault every message still looks for one")
	}
}

func TestLossIsAShareOfMessages(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		n := New(1, Link{}, Link{Latency: time.Millisecond})
		defer n.Disturb(Fault{From: []string{"client"}, Link: Link{Loss: 0.2}})()
		lost := 0
		for range 1000 {
			start := time.Now()
			err := n.SendClient(t.Context(), "client", "a", "x")
			switch {
			case err == nil:
			case errors.Is(err, ErrUnreachable) && time.Since(start) >= callTimeout:
				lost++
			default:
				t.Fatalf("error %v after %v, want %v after %v", err, time.Since(start), ErrUnreachable, callTimeout)
			}
		}
		if lost < 150 || lost > 250 {
			t.Errorf("%d of 1000 messages lost, want about 200", lost)
		}
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		if err := n.SendClient(canceled, "client", "a", "x"); !errors.Is(err, context.Canceled) {
			t.Errorf("with a canceled context: %v", err)
		}
	})
}

func TestFaultsThatCannotBe(t *testing.T) {
	for _, l := range []Link{{}, {Latency: -1}, {Jitter: -1}, {Loss: -0.1}, {Loss: 1.1}, {Loss: math.NaN()}} {
		if (Fault{Link: l}).Validate() == nil {
			t.Errorf("%+v was accepted", l)
		}
	}
	if err := (Fault{Link: Link{Loss: 1}}).Validate(); err != nil {
		t.Error(err)
	}
}
