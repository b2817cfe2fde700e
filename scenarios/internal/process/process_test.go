package process

import (
	"strings"
	"testing"
)

func TestExcerpt(t *testing.T) {
	var e excerpt
	if e.String() != "" {
		t.Errorf("nothing written, but %q kept", e.String())
	}
	for _, part := range []string{"panic: first\n", strings.Repeat("x", 3*excerptSize), "\nlast"} {
		if n, err := e.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatalf("wrote %d of %d: %v", n, len(part), err)
		}
	}
	got := e.String()
	if !strings.HasPrefix(got, "panic: first\n") || !strings.HasSuffix(got, "\nlast") || len(got) > 2*excerptSize+10 {
		t.Errorf("kept %d bytes, %.20q…%q, want the beginning and the end", len(got), got, got[len(got)-10:])
	}
}
