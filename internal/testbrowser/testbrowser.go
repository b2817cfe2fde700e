// Package testbrowser shows pages to a real browser for tests, which have the build tag browser.
//
// It must not import anything of this module, nor package testing.
package testbrowser

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"strings"
)

// watcher keeps what goes wrong in an array of the page, faults.
const watcher = `<script>
const faults = [];
addEventListener("error", (e) => faults.push(e.message || "cannot load " + e.target.outerHTML), true);
addEventListener("unhandledrejection", (e) => faults.push(String(e.reason)));
addEventListener("securitypolicyviolation", (e) => faults.push("blocked: " + e.blockedURI));
for (const level of ["error", "warn"]) console[level] = (...args) => faults.push(args.join(" "));
</script>`

// Visited returns the page with a script that goes last into it, the visitor, and that finds in the
// array faults what has gone wrong since the page began.
func Visited(page, visitor string) string {
	page = strings.Replace(page, "<head>", "<head>"+watcher, 1)
	return strings.Replace(page, "</body>", visitor+"</body>", 1)
}

// Command returns a headless browser, chromium or the one that the variable CHROMIUM names, which
// keeps its files in the directory profile.
func Command(ctx context.Context, profile string, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, cmp.Or(os.Getenv("CHROMIUM"), "chromium"), append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--user-data-dir=" + profile}, args...)...)
}
