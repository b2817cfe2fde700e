package realcluster

import (
	"math"
	"testing"
	"time"

	"github.com/simctl/simctl/cluster"
)

// machine is where servers run that this program has started.
type machine struct {
	Processes
	spent, stolen time.Duration
	processors    int
	read          time.Duration
}

func (m *machine) MemoryRead() time.Duration { return m.read }

func (m *machine) Worked() (spent, stolen time.Duration, processors int) {
	return m.spent, m.stolen, m.processors
}

// TestLookAtMachine: only servers that this program has started have a machine of which it can tell.
func TestLookAtMachine(t *testing.T) {
	for _, p := range []Processes{nil, &machine{read: 198}} {
		var st cluster.Stats
		c := &Cluster{cfg: Config{Processes: p}}
		if c.lookAtMachine(&st); (p != nil) != (st.MemoryRead == 198) || !math.IsNaN(st.CPUUtilisation) || !math.IsNaN(st.CPUStolen) {
			t.Errorf("of %v: a read takes %v, %g of the processors worked and %g was stolen", p, st.MemoryRead, st.CPUUtilisation, st.CPUStolen)
		}
	}
}

// TestWork: the share of the processors that worked since the look before, and that was stolen, where somebody knows.
func TestWork(t *testing.T) {
	var w work
	m := &machine{spent: time.Hour, stolen: time.Minute, processors: 2}
	at := time.Unix(100, 0)
	for i, want := range []float64{math.NaN(), 0.25, 1, 1, 0, math.NaN(), 0.4} {
		told := m
		if i == 5 { // the system could not be asked; the next answer is of both seconds
			told = &machine{}
		}
		m.spent += time.Duration(2 * []float64{7, 0.25, 1, 1.01, 0, 0.5, 0.3}[i] * float64(time.Second)) // 1.01: the two clocks differ
		got, stolen := w.look(told, at.Add(time.Duration(i)*time.Second))
		if math.Abs(got-want) > 1e-9 || math.IsNaN(got) != math.IsNaN(want) {
			t.Errorf("look %d: %g, want %g", i, got, want)
		}
		if known := !math.IsNaN(want); known != (math.Abs(stolen-0.05) < 1e-9) {
			t.Errorf("look %d: %g was stolen, want 0.05 if that is known", i, stolen)
		}
		m.stolen += time.Second / 10
	}
	if got, stolen := w.look(nil, at); !math.IsNaN(got) || !math.IsNaN(stolen) {
		t.Errorf("servers of others: %g, %g", got, stolen)
	}
}
