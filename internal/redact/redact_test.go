package redact

import "testing"

func TestPasswords(t *testing.T) {
	for text, want := range map[string]string{
		"https://user:secret@nomad:4646":            "https://user:xxxxx@nomad:4646",
		"ask http://:secret@a, then http://b:4646/": "ask http://:xxxxx@a, then http://b:4646/",
		"http://nomad:4646/v1/job/x@y":              "http://nomad:4646/v1/job/x@y",
		"http://user:se@cret@nomad":                 "http://user:xxxxx@nomad",
		"http://user@nomad":                         "http://user@nomad",
	} {
		if got := Passwords(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}
