package nomad

import (
	"strings"
	"testing"
	"time"
)

func TestPasswordsAreNotShown(t *testing.T) {
	for text, want := range map[string]string{
		"https://user:secret@nomad:4646":            "https://user:xxxxx@nomad:4646",
		"ask http://:secret@a, then http://b:4646/": "ask http://:xxxxx@a, then http://b:4646/",
		"http://nomad:4646/v1/job/x@y":              "http://nomad:4646/v1/job/x@y",
		"http://user:se@cret@nomad":                 "http://user:xxxxx@nomad",
		"http://user@nomad":                         "http://user@nomad",
	} {
		if got := withoutPasswords(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}

// TestErrorsShowNoPassword: those about an address that is none, and about one where nobody
// answers.
func TestErrorsShowNoPassword(t *testing.T) {
	for _, address := range []string{"http://user:secret@127.0.0.1:1", "http://user:secret@[::1", "http://user:secret@host:port"} {
		t.Setenv("NOMAD_ADDR", address)
		_, err := Connect(t.Context(), Config{Patience: time.Nanosecond})
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", address, err)
		}
	}
}
