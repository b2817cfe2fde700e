//go:build browser

package reports

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/simctl/simctl/metrics"
)

// watcher goes first into the page and keeps what goes wrong.
const watcher = `<script>
const faults = [];
addEventListener("error", (e) => faults.push(e.message || "cannot load " + e.target.outerHTML), true);
addEventListener("unhandledrejection", (e) => faults.push(String(e.reason)));
addEventListener("securitypolicyviolation", (e) => faults.push("blocked: " + e.blockedURI));
for (const level of ["error", "warn"]) console[level] = (...args) => faults.push(args.join(" "));
</script>`

// visitor goes last into the page, does with a mouse what a reader does, and leaves what it
// saw in an attribute of the page.
const visitor = `<script>
(() => {
  const plots = [...document.querySelectorAll(".plot")];
  const mouse = (plot, type, share) => {
    const over = plot.querySelector(".u-over"), box = over.getBoundingClientRect();
    over.dispatchEvent(new MouseEvent(type, { bubbles: true, button: 0, view: window, movementX: 9,
      clientX: box.left + share * box.width, clientY: box.top + box.height / 2 }));
  };
  const legend = (plot) => [...plot.querySelectorAll(".u-value")].map((v) => v.textContent);
  const ink = (plot) => {
    const c = plot.querySelector("canvas"), d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
    const seen = new Set();
    for (let i = 0; i < d.length; i += 4) if (d[i + 3] > 200) seen.add(d[i] + "," + d[i + 1] + "," + d[i + 2]);
    return seen.size;
  };
  const later = (f) => new Promise((done) => setTimeout(() => done(f()), 60));
  (async () => {
    const saw = { plots: plots.length, colours: plots.map(ink), before: legend(plots[0]) };
    mouse(plots[0], "mouseenter", 0.5);
    mouse(plots[0], "mousemove", 0.5);
    saw.hover = await later(() => legend(plots[0]));
    saw.linkedHover = await later(() => legend(plots[1]));
    mouse(plots[0], "mousedown", 0.0);
    mouse(plots[0], "mousemove", 0.1);
    mouse(plots[0], "mouseup", 0.1);
    await later(() => {});
    mouse(plots[0], "mousemove", 0.999);
    saw.zoomed = await later(() => legend(plots[0]));
    mouse(plots[1], "mousemove", 0.999);
    saw.linkedZoom = await later(() => legend(plots[1]));
    mouse(plots[0], "dblclick", 0.5);
    await later(() => {});
    mouse(plots[1], "mousemove", 0.999);
    saw.reset = await later(() => legend(plots[1]));
    saw.wide = document.documentElement.scrollWidth > document.documentElement.clientWidth;
    document.getElementById("theme").click();
    saw.theme = document.documentElement.dataset.theme;
    saw.faults = faults;
    document.body.setAttribute("data-saw", JSON.stringify(saw));
  })();
})();
</script>`

type visit struct {
	Plots                                                         int
	Colours                                                       []int
	Before, Hover, LinkedHover, Zoomed, LinkedZoom, Reset, Faults []string
	Wide                                                          bool
	Theme                                                         string
}

// browse opens the page in a headless browser with a window of some width.
func browse(t *testing.T, page, width string) visit {
	t.Helper()
	browser := os.Getenv("CHROMIUM")
	if browser == "" {
		browser = "chromium"
	}
	page = strings.Replace(page, "<head>", "<head>"+watcher, 1)
	page = strings.Replace(page, "</body>", visitor+"</body>", 1)
	dir := t.TempDir()
	path := filepath.Join(dir, "page.html")
	if err := os.WriteFile(path, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, browser,
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--user-data-dir="+filepath.Join(dir, "profile"),
		"--window-size="+width+",1000", "--virtual-time-budget=10000", "--dump-dom", "file://"+path)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", browser, err, stderr.String())
	}
	m := regexp.MustCompile(`data-saw="([^"]*)"`).FindStringSubmatch(stdout.String())
	if m == nil {
		t.Fatalf("the page did not come through the visit\n%s", stderr.String())
	}
	var saw visit
	unescaped := strings.NewReplacer("&quot;", `"`, "&amp;", "&", "&lt;", "<", "&gt;", ">", "&nbsp;", " ").Replace(m[1])
	if err := json.Unmarshal([]byte(unescaped), &saw); err != nil {
		t.Fatal(err)
	}
	return saw
}

// TestPageInBrowser opens the page in a real browser: it draws, says nothing on the
// console, shows values under the mouse, and zooms both runs together. It needs chromium,
// or the browser that the variable CHROMIUM names.
func TestPageInBrowser(t *testing.T) {
	page := pageOf(t, published(t))
	for name, width := range map[string]string{"desktop": "1280", "phone": "500"} {
		t.Run(name, func(t *testing.T) {
			saw := browse(t, page, width)
			if len(saw.Faults) > 0 {
				t.Errorf("the console says %q", saw.Faults)
			}
			if saw.Plots != 16 {
				t.Errorf("%d plots, want 16", saw.Plots)
			}
			for i, n := range saw.Colours {
				if n < 5 {
					t.Errorf("plot %d has %d colours: nothing is drawn", i, n)
				}
			}
			check := func(what string, legend []string, prefix, value string) {
				t.Helper()
				if len(legend) != 2 || !strings.HasPrefix(legend[0], prefix) || !strings.HasPrefix(legend[1], value) {
					t.Errorf("%s: the legend shows %q, want %q and %q", what, legend, prefix, value)
				}
			}
			// Half of the longer run's 54:45 is in its drain, a third of the backlog left; later the
			// charts are zoomed in on the first tenth.
			check("before", saw.Before, "–", "–")
			check("hover", saw.Hover, "drain, 27:2", "17,6")
			check("hover beside", saw.LinkedHover, "storm, 9:2", "0") // its last point is the nearest
			check("zoomed", saw.Zoomed, "drain, 5:", "4")
			check("zoomed beside", saw.LinkedZoom, "drain, 5:", "0")
			check("zoomed out", saw.Reset, "storm, 9:2", "0")
			if saw.Wide {
				t.Error("the page is wider than the window")
			}
			if saw.Theme != "dark" {
				t.Errorf("the button set the theme %q", saw.Theme)
			}
		})
	}
}

// TestMultiplesInBrowser opens pages of one run, of many, and of a sweep.
func TestMultiplesInBrowser(t *testing.T) {
	pair := published(t)
	for name, runs := range map[string][]*metrics.Result{
		"one":   pair[:1],
		"three": {pair[0], pair[1], synthetic{nodes: 5000, seed: 2, rate: 20.8}.result(t)},
		"sweep": sweepRuns(t, false),
	} {
		t.Run(name, func(t *testing.T) {
			saw := browse(t, pageOf(t, runs), "1280")
			if len(saw.Faults) > 0 || saw.Plots == 0 {
				t.Errorf("%d plots, the console says %q", saw.Plots, saw.Faults)
			}
		})
	}
}
