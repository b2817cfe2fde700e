package redact

import "testing"

func TestPasswords(t *testing.T) {
	for text, want := range map[string]string{
		"https://user:secret@nomad:4646":                                   "https://user:xxxxx@nomad:4646",
		"ask http://:secret@a, then http://b:4646/":                        "ask http://:xxxxx@a, then http://b:4646/",
		"http://nomad:4646/v1/job/x@y":                                     "http://nomad:4646/v1/job/x@y",
		"http://user:se@cret@nomad":                                        "http://user:xxxxx@nomad",
		"http://user@nomad":                                                "http://user@nomad",
		"http://user:se/cret@nomad:4646":                                   "http://user:xxxxx@nomad:4646",
		"http://user:/@secret@nomad":                                       "http://user:xxxxx@nomad",
		`parse "http://user:se cret@nomad": bad`:                           `parse "http://user:xxxxx@nomad": bad`,
		"http://a:1/ and http://user:secret@b:2/":                          "http://a:1/ and http://user:xxxxx@b:2/",
		"ask http://nomad:4646, or root@nomad":                             "ask http://nomad:4646, or root@nomad",
		`parse "http://user:se/cret@nomad": invalid port ":se" after host`: `parse "http://user:xxxxx@nomad": invalid port after host`,
		"user:secret@nomad:4646":                                           "user:xxxxx@nomad:4646",
	} {
		if got := Passwords(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}
