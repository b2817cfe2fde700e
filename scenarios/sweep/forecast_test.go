package sweep

import (
	"testing"
	"time"

	"github.com/simctl/simctl/metrics"
)

func TestForecast(t *testing.T) {
	st := study(t, "nodes=100,200,400", "broker=legacy")
	runs, _, err := st.Plan()
	if err != nil {
		t.Fatal(err)
	}
	f := NewForecast(2)
	total := 0.0
	for _, r := range runs {
		f.Expect(r.Spec)
		total += Cost(r.Spec).CPUS
	}
	about := func(what string, want float64) {
		t.Helper()
		if got := f.Left().Seconds(); got < want*0.99 || got > want*1.01 {
			t.Errorf("%s: %.2f s left, want %.2f", what, got, want)
		}
	}
	first, last := Cost(runs[0].Spec).CPUS, Cost(runs[2].Spec).CPUS
	about("before it starts", max(total/2, last))

	now := time.Unix(0, 0)
	f.Started(runs[2].Key(), runs[2].Spec, now)
	f.Progress(runs[2].Key(), 0.5)
	about("half of the longest done", max((total-last/2)/2, last/2))
	// It took three times as long as estimated: so will the others.
	f.Ended(runs[2].Key(), now.Add(time.Duration(3*last*float64(time.Second))))
	about("the longest done", 3*max((total-last)/2, Cost(runs[1].Spec).CPUS))
	for _, r := range runs[:2] {
		f.Started(r.Key(), r.Spec, now)
		f.Ended(r.Key(), now)
	}
	if f.Left() != 0 {
		t.Errorf("all done, but %v left", f.Left())
	}

	f = NewForecast(1)
	f.Learn(runs[0].Spec, metrics.Host{WallS: 10 * first})
	f.Expect(runs[0].Spec)
	about("as an earlier sweep took", 10*first)
}
