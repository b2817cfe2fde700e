package fsm

import (
	"bytes"
	"reflect"
	"testing"
	"time"
)

func TestTimeTable(t *testing.T) {
	start := time.Unix(1_700_000_000, 0)
	table := NewTimeTable(5 * time.Minute)
	for i := range uint64(200) {
		table.Witness(10+i, start.Add(time.Duration(i)*time.Minute))
	}
	for _, tt := range []struct {
		after time.Duration
		want  uint64
	}{{-time.Second, 0}, {0, 10}, {4 * time.Minute, 10}, {5 * time.Minute, 15}, {1000 * time.Hour, 205}} {
		if got := table.Nearest(start.Add(tt.after)); got != tt.want {
			t.Errorf("%v after the start: index %d, want %d", tt.after, got, tt.want)
		}
	}
	var buf bytes.Buffer
	if err := table.Persist(&buf); err != nil {
		t.Fatal(err)
	}
	buf.WriteString("what follows")
	restored := NewTimeTable(5 * time.Minute)
	if err := restored.Restore(&buf); err != nil || !reflect.DeepEqual(restored, table.Copy()) || buf.String() != "what follows" {
		t.Errorf("read back %d of %d entries, error %v, then %q", len(restored.entries), len(table.entries), err, buf.String())
	}
	for i := range uint64(2000) {
		table.Witness(1000+i, start.Add(24*time.Hour+time.Duration(i)*5*time.Minute))
		if n := len(table.entries); n > 72*60/5 {
			t.Fatalf("%d entries, want no more than three days of them", n)
		}
	}
	if n := len(table.entries); n != 72*60/5 {
		t.Errorf("%d entries, want three days of them", n)
	}
}
