//go:build browser

package reports

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/simctl/simctl/internal/testbrowser"
	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports/page"
	"github.com/simctl/simctl/reports/sweep"
)

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
  // rise is how far up, as a share of the chart, pixels of a colour are.
  const rise = (plot, r, g, b) => {
    const c = plot.querySelector("canvas"), d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
    for (let i = 0; i < d.length; i += 4) if (d[i] === r && d[i + 1] === g && d[i + 2] === b) return 1 - Math.floor(i / 4 / c.width) / c.height;
    return 0;
  };
  const later = (f) => new Promise((done) => setTimeout(() => done(f()), 60));
  (async () => {
    const saw = { plots: plots.length, colours: plots.map(ink), before: legend(plots[0]) };
    saw.contents = [...document.querySelectorAll(".contents a")].filter((a) => document.querySelector(a.getAttribute("href"))).length;
    const phase = (name) => [...document.querySelectorAll(".zooms button")].find((b) => b.textContent === name)?.click();
    phase("storm");
    saw.storm = await later(() => legend(plots[1]));
    saw.stormRise = rise(plots[1], 0, 114, 178);
    phase("whole run");
    saw.whole = await later(() => legend(plots[1]));
    mouse(plots[0], "mouseenter", 0.5);
    mouse(plots[0], "mousemove", 0.5);
    saw.hover = await later(() => legend(plots[0]));
    saw.linkedHover = await later(() => legend(plots[1]));
    mouse(plots[0], "mousemove", 0.7);
    saw.nearer = await later(() => legend(plots[0]));
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
    const root = document.documentElement, theme = () => root.dataset.theme + " " + getComputedStyle(document.body).backgroundColor;
    const write = CanvasRenderingContext2D.prototype.fillText, labels = new Set();
    CanvasRenderingContext2D.prototype.fillText = function (text, ...at) { if (this.textBaseline === "top") labels.add(text); write.call(this, text, ...at); };
    document.getElementById("theme").click();
    saw.labels = await later(() => [...labels]);
    saw.theme = theme();
    const before = plots[0].clientWidth;
    dispatchEvent(new Event("beforeprint"));
    saw.printTheme = theme();
    dispatchEvent(new Event("afterprint"));
    saw.afterPrint = theme();
    saw.sameSize = plots[0].clientWidth === before;
    saw.shown = [...document.querySelectorAll(".figures tbody tr:nth-child(2) > *")].slice(0, 5).filter((c) => c.offsetWidth > 0).length;
    saw.faults = faults;
    document.body.setAttribute("data-saw", JSON.stringify(saw));
  })();
})();
</script>`

// frame shows the page in a window as narrow as a phone, which the browser itself would
// not be, and passes on what the visitor left.
const frame = `<!doctype html><body><iframe src="page.html" style="width:390px;height:800px;border:0"></iframe><script>
setInterval(() => {
  const saw = document.querySelector("iframe").contentDocument.body?.dataset.saw;
  if (saw) document.body.dataset.saw = saw;
}, 20);
</script></body>`

type visit struct {
	Plots                                                         int
	Colours                                                       []int
	Before, Hover, LinkedHover, Zoomed, LinkedZoom, Reset, Faults []string
	Nearer                                                        []string // the legend near the right end
	Labels                                                        []string // below axes of charts
	Storm, Whole                                                  []string // the legend of the second run, zoomed in on its storm and out
	StormRise                                                     float64  // how far up its curve goes then
	Contents                                                      int      // entries that lead somewhere
	Wide, SameSize                                                bool
	Theme, PrintTheme, AfterPrint                                 string
	Shown                                                         int // cells of a row of the comparison
}

// chromium runs a headless browser on a file and returns what it prints.
func chromium(t *testing.T, path string, args ...string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := testbrowser.Command(ctx, t.TempDir(),
		append([]string{"--allow-file-access-from-files", "--virtual-time-budget=10000", "file://" + path}, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd.Path, err, stderr.String())
	}
	return stdout.Bytes()
}

// browse opens the page in a window, or in that of a phone.
func browse(t *testing.T, page string, phone bool, args ...string) visit {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"page.html": testbrowser.Visited(page, visitor), "frame.html": frame} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "page.html")
	if phone {
		path = filepath.Join(dir, "frame.html")
	}
	dom := string(chromium(t, path, append([]string{"--window-size=1280,1000", "--dump-dom"}, args...)...))
	m := regexp.MustCompile(`data-saw="([^"]*)"`).FindStringSubmatch(dom)
	if m == nil {
		t.Fatal("the page did not come through the visit")
	}
	var saw visit
	unescaped := strings.NewReplacer("&quot;", `"`, "&amp;", "&", "&lt;", "<", "&gt;", ">", "&nbsp;", " ").Replace(m[1])
	if err := json.Unmarshal([]byte(unescaped), &saw); err != nil {
		t.Fatal(err)
	}
	return saw
}

const (
	white = "rgb(255, 255, 255)"
	black = "rgb(23, 24, 27)"
)

// TestPageInBrowser opens the page in a real browser: it draws, says nothing on the
// console, shows values under the mouse, zooms both runs together, and follows the reader's
// theme, but is white on paper. It needs chromium, or the browser that the variable CHROMIUM
// names.
func TestPageInBrowser(t *testing.T) {
	report := pageOf(t, published(t))
	for name, tt := range map[string]struct {
		phone bool
		args  []string
		theme string // after a click on the button
		shown int
	}{
		"desktop": {theme: "dark " + black, shown: 5},
		"dark":    {args: []string{"--blink-settings=preferredColorScheme=0"}, theme: "light " + white, shown: 5},
		"phone":   {phone: true, theme: "dark " + black, shown: 4}, // without the delta
	} {
		t.Run(name, func(t *testing.T) {
			saw := browse(t, report, tt.phone, tt.args...)
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
			check("before", saw.Before, "0:00.0 to 54:45", "max 49,990")
			check("in the storm", saw.Storm, "", "max ")
			check("out of the storm", saw.Whole, "0:00.0 to 54:45", "max 49,990")
			if slices.Equal(saw.Storm, saw.Whole) || saw.StormRise < 0.6 {
				t.Errorf("in the storm, the legend shows %q and the curve reaches %g of the chart's height: its values have no scale of their own", saw.Storm, saw.StormRise)
			}
			if saw.Contents < 15 {
				t.Errorf("%d entries of the contents lead somewhere, want one for each section and chart", saw.Contents)
			}
			check("hover", saw.Hover, "drain, 27:2", "17,6")
			check("hover beside", saw.LinkedHover, "storm, 9:2", "0") // its last point is the nearest
			check("zoomed", saw.Zoomed, "drain, 5:", "4")
			check("zoomed beside", saw.LinkedZoom, "drain, 5:", "0")
			check("zoomed out", saw.Reset, "storm, 9:2", "0")
			if saw.Wide {
				t.Error("the page is wider than the window")
			}
			if saw.Theme != tt.theme || saw.AfterPrint != tt.theme || saw.PrintTheme != "light "+white {
				t.Errorf("the button set the theme %q, printing %q and then %q", saw.Theme, saw.PrintTheme, saw.AfterPrint)
			}
			if !saw.SameSize {
				t.Error("printing left the charts in another size")
			}
			if saw.Shown != tt.shown {
				t.Errorf("%d cells of a row are shown, want %d", saw.Shown, tt.shown)
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
		"real":  realRuns(t),
	} {
		t.Run(name, func(t *testing.T) {
			saw := browse(t, pageOf(t, runs), false)
			if len(saw.Faults) > 0 || saw.Plots == 0 {
				t.Errorf("%d plots, the console says %q", saw.Plots, saw.Faults)
			}
		})
	}
}

// TestSweepPageInBrowser opens the page of a sweep: it draws, shows values under the mouse,
// follows the theme, and says of the cells of its maps what they hold.
func TestSweepPageInBrowser(t *testing.T) {
	var out bytes.Buffer
	s := synthSweep(t)
	last := slices.Index(s.Axes[0].Values, "200")
	s.Axes[0].Values[last] = "800" // so that the axis is logarithmic
	for _, r := range s.Runs {
		if r.Point[0] == "200" {
			r.Point[0] = "800"
		}
	}
	if err := page.Sweep(&out, s, sweep.Figures(s, sweep.Paths(s))); err != nil {
		t.Fatal(err)
	}
	saw := browse(t, out.String(), false)
	if len(saw.Faults) > 0 || saw.Plots == 0 || saw.Contents == 0 {
		t.Errorf("%d plots, %d entries of the contents, the console says %q", saw.Plots, saw.Contents, saw.Faults)
	}
	for i, n := range saw.Colours {
		if n < 5 {
			t.Errorf("plot %d has %d colours: nothing is drawn", i, n)
		}
	}
	if len(saw.Before) != 3 || !strings.HasPrefix(saw.Before[0], "50 to 800") || slices.Equal(saw.Before, saw.Hover) {
		t.Errorf("the legend shows %q, and %q under the mouse", saw.Before, saw.Hover)
	}
	// There are 350 nodes, nearer to 100, but drawn nearer to 800.
	if len(saw.Nearer) == 0 || saw.Nearer[0] != "800" {
		t.Errorf("near the right end the legend shows %q, want 800 nodes", saw.Nearer)
	}
	if len(saw.Zoomed) == 0 || saw.Zoomed[0] != "100" {
		t.Errorf("after zooming in on the left end the legend shows %q at the right, want the next point, 100 nodes", saw.Zoomed)
	}
	for _, label := range []string{"50", "100", "800"} {
		if !slices.Contains(saw.Labels, label) {
			t.Errorf("the charts are labelled with %q, and not with %s", saw.Labels, label)
		}
	}
	if saw.PrintTheme != "light "+white {
		t.Errorf("the page prints as %q", saw.PrintTheme)
	}
}

// TestSweepPageOnAPhone: the page of three axes, whose effects take long values, does not scroll
// sideways.
func TestSweepPageOnAPhone(t *testing.T) {
	s := synthSweep(t)
	s.Axes[0].Values = []string{"50000", "100000", "200000"}
	s.Axes = append(s.Axes, metrics.Axis{Name: "share_of_clients_that_fall_silent", Values: []string{"0.05", "0.25"}, Numeric: true})
	s.Limits[0].Broker = "legacy"
	runs := s.Runs
	s.Runs = nil
	for _, r := range runs {
		nodes, schedulers := r.Point[0]+"000", r.Point[1]
		for _, share := range s.Axes[2].Values {
			r.Point = []string{nodes, schedulers, share}
			s.Runs = append(s.Runs, r)
		}
	}
	var out bytes.Buffer
	if err := page.Sweep(&out, s, sweep.Figures(s, sweep.Paths(s))); err != nil {
		t.Fatal(err)
	}
	if saw := browse(t, out.String(), true); saw.Wide || saw.Plots == 0 || len(saw.Faults) > 0 {
		t.Errorf("%d plots, wider than the window: %v, the console says %q", saw.Plots, saw.Wide, saw.Faults)
	}
}

// TestPagePrintsInBrowser prints the page of a real pair of runs.
func TestPagePrintsInBrowser(t *testing.T) {
	dir := t.TempDir()
	path, pdf := filepath.Join(dir, "page.html"), filepath.Join(dir, "page.pdf")
	if err := os.WriteFile(path, []byte(pageOf(t, realRuns(t))), 0o644); err != nil {
		t.Fatal(err)
	}
	chromium(t, path, "--no-pdf-header-footer", "--print-to-pdf="+pdf)
	data, err := os.ReadFile(pdf)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(regexp.MustCompile(`/Type */Page\b[^s]`).FindAll(data, -1)); n < 5 || n > 10 {
		t.Errorf("the page prints on %d sheets, want 5 to 10", n)
	}
}

// TestSoakPageInBrowser: the map of all pairs of the 37 events fits a window.
func TestSoakPageInBrowser(t *testing.T) {
	s := &metrics.Soak{Schema: metrics.Schema, Brokers: []string{"legacy"}, Schedules: []metrics.SoakSchedule{{Seed: 1}}}
	for i := range 37 {
		s.Words = append(s.Words, fmt.Sprintf("resume_eval_broker_%d", i))
		s.Schedules[0].Events = append(s.Schedules[0].Events, metrics.SoakEvent{AtS: float64(i), Word: s.Words[i]})
	}
	dir := t.TempDir()
	if _, err := WriteSoak(dir, s); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "report.html")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const measure = `<script>
const map = document.querySelector(".heat");
document.body.dataset.saw = [document.documentElement, map.parentElement].filter(e => e.scrollWidth > e.clientWidth).length;
</script>`
	if err := os.WriteFile(path, []byte(testbrowser.Visited(string(page), measure)), 0o600); err != nil {
		t.Fatal(err)
	}
	if dom := chromium(t, path, "--window-size=1280,1000", "--dump-dom"); !bytes.Contains(dom, []byte(`data-saw="0"`)) {
		t.Errorf("the map of pairs is wider than the window: %s", regexp.MustCompile(`data-saw="[^"]*"`).Find(dom))
	}
}
