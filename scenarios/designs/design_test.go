package designs

import (
	"slices"
	"testing"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster"
)

func TestSplit(t *testing.T) {
	for _, tt := range []struct {
		name, policy string
		words        []string
	}{
		{"shedding", "shedding", nil},
		{"shedding+dedup-leak", "shedding+dedup-leak", nil},
		{"shedding+restore-best", "shedding", []string{"restore-best"}},
		{"shedding+wake-at-index+dedup-leak+restore-best", "shedding+dedup-leak", []string{"restore-best", "wake-at-index"}},
		{"shedding+restore-best+restore-best", "shedding+restore-best", []string{"restore-best"}},
		{"restore-best", "restore-best", nil},
		{"work-queue", "shedding", []string{"work-queue"}},
		{"work-queue+gather-downs", "shedding", []string{"gather-downs", "work-queue"}},
		{"legacy+work-queue", "legacy", []string{"work-queue"}},
		{"shedding+pipeline-4", "shedding", []string{"pipeline-4"}},
		{"shedding+pipeline-4+pipeline-8", "shedding+pipeline-8", []string{"pipeline-4"}},
		{"shedding+pipeline-04+pipeline-0+pipeline-17+pipeline", "shedding+pipeline-04+pipeline-0+pipeline-17+pipeline", nil},
	} {
		policy, found := Split(tt.name)
		var words []string
		for _, d := range found {
			words = append(words, d.Word)
		}
		if policy != tt.policy || !slices.Equal(words, tt.words) {
			t.Errorf("%q is %q with %q, want %q with %q", tt.name, policy, words, tt.policy, tt.words)
		}
	}
}

// TestBrokers: every name is of one design and what it makes sense with, but for the first two.
func TestBrokers(t *testing.T) {
	for i, name := range Brokers() {
		policy, found := Split(name)
		want := 0
		if i >= 2 {
			want = 1 + len(All()[i-2].With)
		}
		if len(found) != want || broker.Legacy().String() != policy && broker.Shedding().String() != policy {
			t.Errorf("%s has %d designs, want %d", name, len(found), want)
		}
	}
	if got, want := len(Brokers()), 2+len(All()); got != want {
		t.Errorf("%d brokers, want %d", got, want)
	}
}

// TestAll holds every design to saying all of itself and changing something.
func TestAll(t *testing.T) {
	for _, d := range All() {
		var c cluster.DesignConfig
		d.usual().Apply(&c)
		if d.Summary == "" || d.Source == "" || d.Cost == "" || c == (cluster.DesignConfig{}) {
			t.Errorf("%+v leaves something out, or changes nothing", d)
		}
	}
}
