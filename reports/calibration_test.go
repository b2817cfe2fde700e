package reports

import (
	"bytes"
	"math"
	"testing"

	"github.com/simctl/simctl/metrics"
)

func TestCalibrationTable(t *testing.T) {
	real := [][]*metrics.Result{{stormOf("1.4.2", 1, 10, 20, 12.7)}, {stormOf("1.4.2", 2, 10, 20, 49.1)}}
	c := Calibration{
		Runs: real, Before: 0.2, After: 0.05, Unseen: 0.1,
		Factors: []CalibratedFactor{{"log", "Raft", 2, false}, {"calls", "remote calls", 8, true}},
		Figures: []CalibratedFigure{
			{0, "storm", "recovery", 12.7, 10, 12.5, 12.0},
			{1, "storm", "recovery", 49.1, -1, 50, 55},
		},
	}
	const want = `log    ×2.00  Raft
calls  ×8.00  remote calls (the search went no further: begin with other costs)

heartbeat-storm · 50 nodes · seed 1 · wall time · 1.4.2
                   real    before         fitted          fitted without this run
  storm: recovery  12.7 s  10 s (-21.3%)  12.5 s (-1.6%)  12 s (-5.5%)

heartbeat-storm · 50 nodes · seed 2 · wall time · 1.4.2
                   real    before  fitted        fitted without this run
  storm: recovery  49.1 s  never   50 s (+1.8%)  55 s (+12.0%)

Typical deviation: 20% before, 5% fitted, 10% on runs that the fit has not seen
`
	var got bytes.Buffer
	if err := CalibrationTable(&got, c); err != nil || got.String() != want {
		t.Errorf("%v:\n%s\nwant\n%s", err, got.String(), want)
	}
	c.Unseen, c.Figures[0].Unseen = math.NaN(), math.NaN()
	got.Reset()
	if err := CalibrationTable(&got, c); err != nil || !bytes.Contains(got.Bytes(), []byte("12.5 s (-1.6%)  -\n")) || !bytes.Contains(got.Bytes(), []byte("give runs of several")) {
		t.Errorf("%v:\n%s", err, got.String())
	}
}
