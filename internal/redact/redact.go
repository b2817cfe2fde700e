// Package redact leaves out of texts what nobody should read there.
package redact

import "regexp"

var (
	// passwords finds what may be a password in an address, up to its last @. The password may have a slash or a
	// space in it. Such an address is refused, but the error that refuses it shows the address.
	passwords = regexp.MustCompile(`(//[^/\s:@]*:)[^\n@]*(?:@[^\s@,]*)*@`)
	// bare is the same of addresses without a scheme.
	bare = regexp.MustCompile(`((?:^|[\s"',])[\w.+-]+:)[^\s/@][^\s@]*(?:@[^\s@,]*)*@`)
	// parts finds errors of net/url that show a wrong part of an address, which may be part of a password.
	parts = regexp.MustCompile(`(invalid port|invalid URL escape) "[^"]*"`)
	// port finds what only looks like a password: a port, and what follows it.
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
