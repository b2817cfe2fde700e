package nomad

import (
	"strings"
	"testing"
	"time"
)

// TestErrorsShowNoPassword: those about an address that is none, and about one where nobody
// answers.
func TestErrorsShowNoPassword(t *testing.T) {
	for _, address := range []string{"http://user:secret@127.0.0.1:1", "http://user:secret@[::1", "http://user:secret@host:port"} {
		_, err := Connect(t.Context(), address, Config{Patience: time.Nanosecond})
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", address, err)
		}
	}
}
