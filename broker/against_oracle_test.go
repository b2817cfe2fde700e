package broker_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/simctl/simctl/broker"
)

// oraclePolicies returns every registered policy, and changed ones that between them have
// every rule.
func oraclePolicies(t testing.TB) []broker.Policy {
	changed := func(name string) bool { return strings.Contains(name, "+") }
	names := append(slices.DeleteFunc(broker.PolicyNames(), changed),
		"shedding+dedup-leak", "shedding+oldest-first+enqueue-keeps-best",
		"legacy+newest-first+ack-keeps-none+enqueue-keeps-best",
		"legacy+priority-first", "shedding+ack-keeps-none", "legacy+enqueue-keeps-none")
	var policies []broker.Policy
	for _, name := range names {
		p, err := broker.PolicyByName(name)
		if err != nil {
			t.Fatal(err)
		}
		policies = append(policies, p)
	}
	return append(policies, onePerPriority{broker.Legacy()})
}

// onePerPriority keeps the best pending evaluation of each priority.
type onePerPriority struct{ broker.Policy }

func (onePerPriority) String() string { return "one-per-priority" }

func (p onePerPriority) Shed(pending broker.PendingEvaluations) []*broker.Evaluation {
	if pending.Len() < 4 {
		return nil
	}
	best := map[int]*broker.Evaluation{}
	for e := range pending.All() {
		b := best[e.Priority]
		if b == nil || p.Less(e, b) || !p.Less(b, e) && e.ID < b.ID {
			best[e.Priority] = e
		}
	}
	return pending.RemoveFunc(func(e *broker.Evaluation) bool { return e != best[e.Priority] })
}

type rapidChoices struct{ t *rapid.T }

func (c rapidChoices) Choose(n int) int { return rapid.IntRange(0, n-1).Draw(c.t, "choice") }

// TestAgainstOracle compares the broker with the naive list-based one over random
// sequences of operations; rapid shrinks a difference to a short one.
func TestAgainstOracle(t *testing.T) {
	for _, p := range oraclePolicies(t) {
		t.Run(p.String(), rapid.MakeCheck(func(t *rapid.T) {
			d := newDriver(p, rapidChoices{t})
			for range rapid.IntRange(1, 400).Draw(t, "steps") {
				if err := d.step(); err != nil {
					t.Fatalf("%v\nafter\n%s", err, strings.Join(d.log, "\n"))
				}
			}
		}))
	}
}

// byteChoices reads choices from a fuzzer's input; when it ends, all are zero.
type byteChoices struct{ rest []byte }

func (c *byteChoices) Choose(n int) int {
	if len(c.rest) == 0 {
		return 0
	}
	b := c.rest[0]
	c.rest = c.rest[1:]
	return int(b) % n
}

// FuzzAgainstOracle is TestAgainstOracle with Go's coverage-guided fuzzer for a driver:
//
//	go test ./broker -fuzz FuzzAgainstOracle -fuzztime 60s
func FuzzAgainstOracle(f *testing.F) {
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range oraclePolicies(f) {
		input := make([]byte, 1500)
		for k := range input {
			input[k] = byte(rng.Uint32())
		}
		f.Add(uint8(i), input)
	}
	f.Fuzz(func(t *testing.T, policy uint8, input []byte) {
		policies := oraclePolicies(t)
		choices := &byteChoices{input}
		d := newDriver(policies[int(policy)%len(policies)], choices)
		for steps := 0; len(choices.rest) > 0 && steps < 1000; steps++ {
			if err := d.step(); err != nil {
				t.Fatalf("%v\nafter\n%s", err, strings.Join(d.log, "\n"))
			}
		}
	})
}
