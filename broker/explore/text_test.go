package explore_test

import (
	"strings"
	"testing"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/broker/explore"
)

func TestWriteText(t *testing.T) {
	b := bounds(func(b *explore.Bounds) {
		b.Jobs, b.Evals, b.Workers, b.Timeouts, b.Snapshot = 1, 2, 1, 0, explore.SnapshotJob
	})
	reports, err := explore.RunAll(t.Context(), []broker.Policy{broker.Shedding(), shedAll{broker.Shedding()}}, b, nil)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := explore.WriteText(&out, reports); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Every interleaving of 1 job with 2 triggers each, 1 worker and\n",
		"any evaluation of its job.\n",
		"shedding: holds in every state\n",
		"shed-all: VIOLATES \"no lost wake-up\" after 5 steps\n",
		"  1. job a is triggered\n",
		"  5. worker 1 acks a1\n",
		"ack id=a1 token=t1\n----\nok, shed 1\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}
