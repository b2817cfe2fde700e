package scenarios

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/simctl/simctl/metrics"
)

// behavingText is a scenario of 24 clients in two groups, one of three racks, whose behaviour
// begins when all is calm and ends after ten minutes.
const behavingText = `title = "clients that behave"

fleet {
  group "near" {
    nodes = 12
    racks = 3
  }
  group "far" {
    nodes      = 12
    datacenter = "dc2"
  }
}
job "agent" {
  type   = "system"
  copies = 2
}
behaviour %s
phase "start" {
  event "schedulers" {
    per_server = 2
  }
  event "register_jobs" {}
  event "start_clients" {}
  until "registered" {}
}
phase "act" {
  event "begin" {
    behaviour = "b"
  }
  until "elapsed" {
    for = "10m"
  }
}
phase "end" {
  event "end" {
    behaviour = "b"
  }
  until "settled" {}
}
`

func behave(t *testing.T, behaviour string) *metrics.Result {
	t.Helper()
	res := elsewhere(t, fileSpec(t, fmt.Sprintf(behavingText, behaviour)))
	wantSound(t, res)
	return res
}

// TestBehaviours: what each kind leaves in the log of ten minutes.
func TestBehaviours(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		behaviour       string
		down, registers [2]uint64 // least and most
		fewest          float64   // nodes ready
	}{
		// 12 clients are silent for 60 s and back for 60 s: five times each.
		{`"flap" "b" {
			group = "near"
			up    = "60s"
			down  = "60s"
		}`, [2]uint64{60, 60}, [2]uint64{48, 60}, 12},
		// A rack falls silent as a whole: 4 clients at a time.
		{`"flap" "b" {
			group    = "near"
			share    = 0.34
			together = "rack"
			up       = uniform("60s", "70s")
			down     = "60s"
		}`, [2]uint64{16, 20}, [2]uint64{16, 20}, 20},
		{`"flap" "b" {
			together = "datacenter"
			share    = 0.5
			up       = "4m"
			down     = "60s"
			offset   = "10s"
		}`, [2]uint64{24, 36}, [2]uint64{24, 36}, 12},
		// A third of the clients for good; the end of the behaviour brings them back.
		{`"stop" "b" {
			share = 0.25
			after = uniform("0s", "5m")
		}`, [2]uint64{6, 6}, [2]uint64{0, 0}, 18},
		// New machines: the old ones go down, too.
		{`"churn" "b" {
			share = 0.5
			every = "4m"
		}`, [2]uint64{24, 24}, [2]uint64{24, 24}, 24},
		// A changed fingerprint is a registration and no more.
		{`"fingerprint" "b" {
			group = "far"
			every = normal("90s", "1s")
		}`, [2]uint64{0, 0}, [2]uint64{60, 84}, 24},
	} {
		res := behave(t, c.behaviour)
		act := res.Phase("act")
		if act.NodesDown < c.down[0] || act.NodesDown > c.down[1] {
			t.Errorf("%s: %d nodes went down, want %d to %d", c.behaviour, act.NodesDown, c.down[0], c.down[1])
		}
		if got := act.RaftEntriesByType[metrics.EntryNodeRegister]; got < c.registers[0] || got > c.registers[1] {
			t.Errorf("%s: %d registrations, want %d to %d", c.behaviour, got, c.registers[0], c.registers[1])
		}
		ready := res.SeriesByName(metrics.SeriesNodesReady)
		at := slices.IndexFunc(ready.AtS, func(s float64) bool { return s > act.StartS })
		if fewest := slices.Min(ready.Value[at:]); fewest != c.fewest {
			t.Errorf("%s: %g nodes were ready at the worst, want %g", c.behaviour, fewest, c.fewest)
		}
	}
}

func TestReplay(t *testing.T) {
	spec := fileSpec(t, fmt.Sprintf(behavingText, `"replay" "b" {
		group = "far"
		file  = "outage.csv"
	}`))
	trace := filepath.Join(filepath.Dir(spec.File), "outage.csv")
	if err := compileErr(spec); err == nil || !strings.Contains(err.Error(), "outage.csv cannot be read") {
		t.Errorf("without the trace: %v", err)
	}
	if err := os.WriteFile(trace, []byte("# seconds,client,state\n60,3,down\n1m,4,down\n\n180.5 3 up\n200,3,down\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Compile(spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(trace); err != nil { // the Spec has it
		t.Fatal(err)
	}
	res := runOne(t, c.Spec(), nil)
	wantSound(t, res)
	if act := res.Phase("act"); act.NodesDown != 3 || act.RaftEntriesByType[metrics.EntryNodeRegister] != 1 {
		t.Errorf("%d nodes down and %d registrations, want 3 and 1", act.NodesDown, act.RaftEntriesByType[metrics.EntryNodeRegister])
	}
}

// TestBehavioursRepeat: in child processes, to the last bit.
func TestBehavioursRepeat(t *testing.T) {
	spec := fileSpec(t, fmt.Sprintf(behavingText, `"flap" "b" {
		up   = exponential("60s")
		down = exponential("30s")
	}`))
	other := spec
	other.Seed = 2
	results, err := RunAll(t.Context(), []Spec{spec, spec, other}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if results[0].Digest() != results[1].Digest() {
		t.Error("the same behaviour gave two results")
	}
	if results[0].Totals.RaftEntries == results[2].Totals.RaftEntries {
		t.Error("another seed behaves the same")
	}
}

func TestRefusedBehaviours(t *testing.T) {
	for behaviour, want := range map[string]string{
		`"flap" "b" {}`: "must say up", `"flap" "b" { up = "1s" }`: "must say down", `"churn" "b" {}`: "must say every",
		`"stop" "c" {}`: `no "b"`, `"stop" "b" { together = "row" }`: "rack, datacenter, group", `"stop" "b" { share = 1.5 }`: "from 0 to 1",
		`"fingerprint" "b" { every = "1ms" }`:            "every is 1ms on average: it must be 1s at least",
		"\"stop\" \"b\" {}\nbehaviour \"stop\" \"c\" {}": `No event begins "c"`,
	} {
		err := compileErr(fileSpec(t, fmt.Sprintf(behavingText, behaviour)))
		if err == nil || !strings.Contains(strings.Join(strings.Fields(err.Error()), " "), want) {
			t.Errorf("%s: error %v, want one that says %q", behaviour, err, want)
		}
	}
}
