// Package rusage tells what this process has cost the machine so far. It is no part of any
// run: virtual time knows nothing of it.
package rusage
