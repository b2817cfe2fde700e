// Package english words numbers of things in messages. It imports nothing of this module.
package english

import "fmt"

// Plural counts things: "1 job", "2 jobs".
func Plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
