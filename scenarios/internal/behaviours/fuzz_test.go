package behaviours

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// FuzzParseTrace: a trace has clients of the group alone, each of which goes through its
// changes in order of time, and what it says can be written and read again.
func FuzzParseTrace(f *testing.F) {
	f.Add("0,0,down # the first\n1h5m 1 up\n\n60.5,0,up\n")
	f.Add("1e300,0,up")
	f.Add("NaN,0,up")
	f.Add("2,2,down\r\n1,2,up")
	f.Fuzz(func(t *testing.T, text string) {
		const clients = 3
		tr, err := parseTrace([]byte(text), clients)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("the error of %q has more than one line: %v", text, err)
			}
			return
		}
		var lines strings.Builder
		for client, changes := range tr {
			for i, c := range changes {
				if client < 0 || client >= clients || c.At < 0 || i > 0 && c.At < changes[i-1].At {
					t.Fatalf("client %d: %v", client, changes)
				}
				fmt.Fprintf(&lines, "%v,%d,%s\n", c.At, client, map[bool]string{true: "up", false: "down"}[c.Up])
			}
		}
		if again, err := parseTrace([]byte(lines.String()), clients); err != nil || !reflect.DeepEqual(again, tr) {
			t.Errorf("%v is read again as %v (%v)", tr, again, err)
		}
	})
}
