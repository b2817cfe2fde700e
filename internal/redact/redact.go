// Package redact leaves out of texts what nobody should read there.
package redact

import "regexp"

// passwords finds those in URLs.
var passwords = regexp.MustCompile(`(//[^/\s:@]*):[^/\s]*@`)

// Passwords returns a text in which no URL shows a password.
func Passwords(text string) string { return passwords.ReplaceAllString(text, "$1:xxxxx@") }
