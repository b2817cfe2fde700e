// Package madeby replaces the part of a page that a make target writes, and leaves the rest, which people write.
package madeby

import (
	"bytes"
	"fmt"
	"os"
	"slices"
)

// Lines returns the lines that enclose what a target makes.
func Lines(target string) (begin, end string) {
	return "<!-- Made by make " + target + ". -->\n", "<!-- End of what make " + target + " made. -->\n"
}

// Put replaces what is between the lines of a target in the file of a page.
func Put(page, target string, text []byte) error {
	old, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	begin, end := Lines(target)
	before, rest, ok := bytes.Cut(old, []byte(begin))
	_, after, closed := bytes.Cut(rest, []byte(end))
	if !ok || !closed {
		return fmt.Errorf("%s lacks the lines %q and %q", page, begin, end)
	}
	return os.WriteFile(page, slices.Concat(before, []byte(begin), text, []byte(end), after), 0o644)
}
