package process

import (
	"bytes"
	"errors"
	"testing"

	"github.com/simctl/simctl/metrics"
)

// FuzzReadOutcome: whatever a child writes, there is a Result or an error.
func FuzzReadOutcome(f *testing.F) {
	for _, err := range []error{nil, errors.New("broken")} {
		var b bytes.Buffer
		if err := WriteOutcome(&b, &metrics.Result{}, err); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
		f.Add(b.Bytes()[:b.Len()/2])
	}
	f.Add([]byte(`{"progress":{}}{"progress":null,"error":""}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		res, err := ReadOutcome(bytes.NewReader(data))
		if res == nil && err == nil {
			t.Fatal("neither a Result nor an error")
		}
		if res == nil {
			return
		}
		var b bytes.Buffer
		if err := WriteOutcome(&b, res, err); err != nil {
			t.Fatalf("read, but cannot be written: %v", err)
		}
		again, err2 := ReadOutcome(&b)
		if again == nil || (err == nil) != (err2 == nil) || err != nil && err.Error() != err2.Error() {
			t.Errorf("%v is written and read as %v", err, err2)
		}
	})
}
