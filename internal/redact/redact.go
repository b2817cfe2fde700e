// Package redact leaves out of texts what nobody should read there.
package redact

import "regexp"

var (
	// passwords finds what may be one, up to the last @ of an address. It may have a slash or a
	// space in it: such an address is refused, and the refusal names it.
	passwords = regexp.MustCompile(`(//[^/\s:@]*:)[^\n@]*(?:@[^\s@,]*)*@`)
	// bare is the same of addresses without a scheme.
	bare = regexp.MustCompile(`((?:^|[\s"',])[\w.+-]+:)[^\s/@][^\s@]*(?:@[^\s@,]*)*@`)
	// parts is how net/url names a part of an address that it refuses, which may be one of a password.
	parts = regexp.MustCompile(`(invalid port|invalid URL escape) "[^"]*"`)
	// port is what is none: a port, and what follows it.
	port = regexp.MustCompile(`^([^:]*:\d+)[/\s,;"')]`)
)

// Passwords returns a text in which no URL shows a password.
func Passwords(text string) string {
	return parts.ReplaceAllString(replace(bare, replace(passwords, text)), "$1")
}

func replace(found *regexp.Regexp, text string) string {
	return found.ReplaceAllStringFunc(text, func(s string) string {
		if at := port.FindStringSubmatch(s); at != nil {
			return at[1] + replace(found, s[len(at[1]):])
		}
		return found.FindStringSubmatch(s)[1] + "xxxxx@"
	})
}
