package metrics

import (
	"encoding/json"
	"reflect"
	"testing"
)

// FuzzBaseline: a baseline that can be read can be held against its own runs, and be written
// and read again.
func FuzzBaseline(f *testing.F) {
	legacy, shedding := pair()
	whole, err := json.Marshal(NewBaseline(json.RawMessage(`{"scenario":"s"}`), 0.1, []*Result{legacy, shedding}))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte(`{"baseline":1,"spec":{},"tolerance":0,"runs":[null]}`))
	f.Add([]byte(`{"baseline":1,"tolerance":-1,"runs":[{"schema":1,"run":{"scenario":"s","broker":"b"}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := decodeBaseline(data)
		if err != nil {
			return
		}
		b.Thresholds()
		if len(b.Runs) == 1 {
			if d := b.Differences(b.Runs); len(d) > 0 {
				t.Errorf("the baseline differs from itself: %+v", d)
			}
		}
		text, err := json.Marshal(b)
		if err != nil {
			t.Fatalf("read, but cannot be written: %v", err)
		}
		if again, err := decodeBaseline(text); err != nil || !reflect.DeepEqual(again.Thresholds(), b.Thresholds()) {
			t.Fatalf("written, but reads as another baseline (%v)", err)
		}
		runs, err := DecodeRuns(data)
		if err != nil || len(runs) != len(b.Runs) || !runs[0].OfBaseline {
			t.Errorf("%d runs (%v), want the %d of a baseline", len(runs), err, len(b.Runs))
		}
	})
}
