package nomad

import (
	"regexp"

	"github.com/hashicorp/nomad/api"
)

// address is that of the cluster, for people to read.
func address(client *api.Client) string { return withoutPasswords(client.Address()) }

// passwords finds those in URLs.
var passwords = regexp.MustCompile(`(//[^/\s:@]*):[^/\s]*@`)

// withoutPasswords returns a text in which no URL shows a password.
func withoutPasswords(text string) string { return passwords.ReplaceAllString(text, "$1:xxxxx@") }
