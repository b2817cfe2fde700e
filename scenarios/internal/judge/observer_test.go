package judge

import (
	"slices"
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/metrics"
)

func TestObserverTellsOverlapsFromOvertaking(t *testing.T) {
	t0 := time.Unix(0, 0)
	one := &broker.Evaluation{ID: "one", JobID: "job"}
	two := &broker.Evaluation{ID: "two", JobID: "job"}
	three := &broker.Evaluation{ID: "three of the job", JobID: "job"}
	other := &broker.Evaluation{ID: "three", JobID: "other"}
	type call struct {
		at   time.Duration
		what string
		eval *broker.Evaluation
	}
	cases := []struct {
		name  string
		slack time.Duration
		calls []call
		want  int
	}{
		{"one after the other", 0, []call{{0, "dequeue", one}, {1, "ack", one}, {1, "dequeue", two}, {2, "ack", two}}, 0},
		{"two jobs", 0, []call{{0, "dequeue", one}, {0, "dequeue", other}, {5, "ack", other}, {6, "ack", one}}, 0},
		{"two of a job", 0, []call{{0, "dequeue", one}, {1, "dequeue", two}, {2, "ack", one}, {3, "ack", two}}, 1},
		{"two of a job to the end", 0, []call{{0, "dequeue", one}, {1, "dequeue", two}}, 1},
		{"the ack is overtaken within an instant", 0, []call{{0, "dequeue", one}, {1, "dequeue", two}, {1, "ack", one}, {2, "ack", two}}, 0},
		{"the ack is overtaken within the slack", 5, []call{{0, "dequeue", one}, {1, "dequeue", two}, {6, "ack", one}}, 0},
		{"beyond the slack", 5, []call{{0, "dequeue", one}, {1, "dequeue", two}, {7, "ack", one}}, 1},
		{"a nack lands it, too", 0, []call{{0, "dequeue", one}, {1, "nack", one}, {2, "dequeue", two}}, 0},
		{"delivered again after its timer expired", 0, []call{{0, "dequeue", one}, {9, "dequeue", one}, {10, "ack", one}}, 0},
		{"and nothing is left of the first delivery", 0, []call{{0, "dequeue", one}, {9, "dequeue", one}, {10, "ack", one}, {11, "dequeue", two}, {12, "ack", two}}, 0},
		{"three of a job, and the first was joined long before its ack", 5, []call{{0, "dequeue", one}, {1, "dequeue", two}, {5, "dequeue", three}, {7, "ack", one}, {8, "ack", two}, {9, "ack", three}}, 1},
		{"one stays in flight beside one that landed", 0, []call{{0, "dequeue", one}, {1, "dequeue", two}, {1, "ack", one}, {2, "dequeue", three}, {5, "ack", two}, {6, "ack", three}}, 1},
		{"two of a job to the end, the last of them first", 0, []call{{0, "dequeue", two}, {1, "dequeue", one}}, 1},
		{"a flush lands everything", 0, []call{{0, "dequeue", one}, {1, "flush", nil}, {2, "dequeue", two}}, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			o := NewObserver(func() {}, c.slack)
			o.Record(metrics.NewRecorder(t0))
			for _, call := range c.calls {
				at := t0.Add(call.at)
				switch call.what {
				case "dequeue":
					o.Dequeued(at, call.eval, time.Second)
				case "ack":
					o.Acked(at, call.eval, 0, 0)
				case "nack":
					o.Nacked(at, call.eval)
				case "flush":
					o.Flushed(at)
				}
			}
			if got := o.Close(); got.twice != c.want || (got.first == "") != (c.want == 0) {
				t.Errorf("%d overlaps, want %d (%s)", got.twice, c.want, got.first)
			}
			if got := o.Close(); got.twice != c.want {
				t.Errorf("%d overlaps when asked again, want %d", got.twice, c.want)
			}
		})
	}
}

// TestObserverKeepsTheAccount: what is seen of flushes and overlaps, and that nothing is kept of
// evaluations that have landed.
func TestObserverKeepsTheAccount(t *testing.T) {
	alive := 0
	o, at := NewObserver(func() { alive++ }, 0), time.Unix(0, 0)
	evals := map[string]*broker.Evaluation{}
	for _, id := range []string{"a1", "a2", "b1", "b2"} {
		evals[id] = &broker.Evaluation{ID: id, JobID: id[:1]}
		o.Dequeued(at, evals[id], 0)
		at = at.Add(time.Second)
	}
	for _, id := range []string{"b1", "a1", "a2", "b2"} {
		o.Acked(at, evals[id], 0, 0)
	}
	if len(o.inFlight) != 0 {
		t.Errorf("%v are in flight", o.inFlight)
	}
	o.Acked(at, evals["a1"], 0, 0) // of one that is not in flight
	o.Flushed(at)
	o.Flushed(at)
	if alive != 5 {
		t.Errorf("the run was said to be alive %d times, want once for each of 5 acks", alive)
	}
	if s := o.Close(); s.flushes != 2 || s.twice != 2 || s.first != "b2 beside b1" || s.acks != 5 {
		t.Errorf("%+v: want 2 flushes, and 2 overlaps of which that of job b was the first", s)
	}
}

// TestTheFirstOverlapIsNamed: of those that are open at the end, the first by name, whatever the
// order of a map.
func TestTheFirstOverlapIsNamed(t *testing.T) {
	for range 10 {
		o := NewObserver(func() {}, 0)
		for _, id := range []string{"c1", "c2", "a1", "a2", "b1", "b2"} {
			o.Dequeued(time.Unix(0, 0), &broker.Evaluation{ID: id, JobID: id[:1]}, 0)
		}
		if s := o.Close(); s.twice != 3 || s.first != "a2 beside a1" {
			t.Fatalf("%d overlaps, the first was %s; want 3, a2 beside a1", s.twice, s.first)
		}
	}
}

// TestAnAckMayBeToldLast: an evaluation that comes up again with its own ack, as one that a worker blocks again does, may be
// seen to be delivered before that ack. The order changes no latency, and the evaluation stays in flight.
func TestAnAckMayBeToldLast(t *testing.T) {
	for _, deliveredFirst := range []bool{false, true} {
		t0 := time.Unix(0, 0)
		rec := metrics.NewRecorder(t0)
		o := NewObserver(func() {}, 0)
		o.Record(rec)
		e := &broker.Evaluation{ID: "0fd40f6f-9566-0fb7-6357-e82d9e475532", JobID: "job"}
		o.Dequeued(t0, e, 4*time.Second)
		tell := []func(){
			func() { o.Acked(t0.Add(2*time.Second), e, 2*time.Second, 0) },
			func() { o.Dequeued(t0.Add(2*time.Second), e, 0) },
		}
		if deliveredFirst {
			slices.Reverse(tell)
		}
		for _, event := range tell {
			event()
		}
		if len(o.inFlight) != 1 {
			t.Errorf("delivered first: %v; %v are in flight", deliveredFirst, o.inFlight)
		}
		o.Acked(t0.Add(3*time.Second), e, time.Second, 0)
		if got := o.Responses(); !slices.Equal(got, []time.Duration{6 * time.Second, time.Second}) {
			t.Errorf("delivered first: %v; responses %v, want 6 s and 1 s", deliveredFirst, got)
		}
		if len(o.inFlight) != 0 {
			t.Errorf("delivered first: %v; at the end %v are in flight", deliveredFirst, o.inFlight)
		}
	}
}

func TestObserverFeedsLatenciesAndFanIn(t *testing.T) {
	t0 := time.Unix(0, 0)
	rec := metrics.NewRecorder(t0)
	o := NewObserver(func() {}, 0)
	e := &broker.Evaluation{ID: "0fd40f6f-9566-0fb7-6357-e82d9e475532", JobID: "job"}
	o.Dequeued(t0, e, time.Hour) // before the run began: not part of it
	o.Acked(t0, e, 0, 9)
	o.Record(rec)
	o.Dequeued(t0, e, 2*time.Second)
	o.Acked(t0.Add(3*time.Second), e, 3*time.Second, 4)
	res, err := rec.Result(metrics.Run{}, nil, metrics.Host{})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{metrics.LatencyWait: 2, metrics.LatencyProcess: 3, metrics.LatencyResponse: 5} {
		if l := res.LatencyByName(name); l == nil || l.Count != 1 || l.Max != want {
			t.Errorf("latency %s is %+v, want one of %g s", name, l, want)
		}
	}
	if res.FanIn.Max != 5 {
		t.Errorf("fan-in %g, want 5: the evaluation and four shed with it", res.FanIn.Max)
	}
	if s := o.Close(); s.acks != 2 || s.acked.Len() != 1 {
		t.Errorf("%d acks of %d evaluations, want 2 of 1", s.acks, s.acked.Len())
	}
}
