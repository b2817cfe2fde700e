// Package english words numbers of things in messages. It imports nothing of this module.
package english

import "fmt"

// Plural counts things: "1 job", "2 jobs".
func Plural[N int | uint64](n N, thing string) string { return Agree(n, thing, thing+"s") }

// Agree counts in words that depend on the number: "1 job waits", "2 jobs wait".
func Agree[N int | uint64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
