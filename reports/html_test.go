package reports

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports/page"
)

func pageOf(t testing.TB, runs []*metrics.Result) string {
	t.Helper()
	var out bytes.Buffer
	if err := page.HTML(&out, runs); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestPageIsSelfContained looks for anything that a browser would load.
func TestPageIsSelfContained(t *testing.T) {
	page := pageOf(t, published(t))
	for _, loads := range []string{`<link[^>]+href="[^d]`, `<script[^>]+src`, `<img`, `@import`, `url\(`, `fetch\(`, `XMLHttpRequest`, `<iframe`} {
		if m := regexp.MustCompile(loads).FindString(page); m != "" {
			t.Errorf("the page has %q", m)
		}
	}
	if !strings.Contains(page, "default-src 'none'") {
		t.Error("the page does not forbid itself to load anything")
	}
	if !strings.Contains(page, "Leon Sorokin") {
		t.Error("the page does not carry the licence of uPlot")
	}
}

func TestPageSaysEverything(t *testing.T) {
	runs := published(t)
	runs[0].Host.Started = time.Date(2026, 11, 22, 5, 30, 0, 0, time.UTC)
	runs[1].Invariants[1].OK, runs[1].Invariants[1].Detail = false, "job-3 had two"
	runs[1].Thresholds = []metrics.Verdict{{Run: "shedding", Metric: "totals.raft_entries", Demand: "<= 250", Value: 33066}}
	page := pageOf(t, runs)
	for what, want := range map[string]string{
		"headline":    "<h1>2 checks failed. Drain: 99.8% fewer Raft entries, queue empty 200× sooner, recovered 7.1× sooner</h1>",
		"date":        "run on 22 November 2026, 05:30 UTC",
		"percentile":  "<tr><th>response p99</th><td>41:00</td><td>2:59</td>",
		"no script":   "<noscript><p",
		"comparison":  `<tr><th>Raft entries</th><td>50,010</td><td>99</td><td class="delta">-49,911</td><td class="better">÷505</td></tr>`,
		"parameters":  "<tr><th>system jobs</th><td>10</td><td>10</td></tr>",
		"cost model":  "<div><dt>Raft commit</dt><dd>530 µs</dd></div>",
		"source":      "Class <b>published</b>, from: 3 × 2 vCPU",
		"invariant":   `<li class="failed">at most one evaluation per job in flight: job-3 had two</li>`,
		"threshold":   `<code>totals.raft_entries</code> is 33066 entries, demanded &lt;= 250`,
		"rerun":       "<pre><code>simctl scenario heartbeat-storm --nodes 5000 --seed 1</code></pre>",
		"digest":      runs[0].Digest(),
		"failure":     `<p class="failure">invariant &#34;at most one evaluation per job in flight&#34; failed in shedding`,
		"old colour":  `style="--run:#d55e00"`,
		"queue empty": "queue empty 0:13",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%s: the page has no %s", what, want)
		}
	}
}

// TestPageDataIsPlotted checks that each chart the script is to draw is in its data and has
// a place on the page, with every layer as long as its instants, which rise.
func TestPageDataIsPlotted(t *testing.T) {
	page := pageOf(t, published(t))
	m := regexp.MustCompile(`(?s)<script id="data" type="application/json">(.*?)</script>`).FindStringSubmatch(page)
	if m == nil {
		t.Fatal("the page has no data")
	}
	var figs []struct {
		ID     string
		Panels []struct {
			X      []float64
			Layers []struct {
				Name string
				Y    []float64
			}
		}
	}
	if err := json.Unmarshal([]byte(m[1]), &figs); err != nil {
		t.Fatal(err)
	}
	if len(figs) != 8 {
		t.Errorf("%d figures are drawn, want 8", len(figs))
	}
	for _, f := range figs {
		if n := strings.Count(page, `class="plot" data-figure="`+f.ID+`"`); n != len(f.Panels) {
			t.Errorf("%s has %d places for %d panels", f.ID, n, len(f.Panels))
		}
		for _, p := range f.Panels {
			for i := 1; i < len(p.X); i++ {
				if p.X[i] <= p.X[i-1] {
					t.Fatalf("%s: x goes from %g to %g", f.ID, p.X[i-1], p.X[i])
				}
			}
			for _, l := range p.Layers {
				if len(l.Y) != len(p.X) {
					t.Errorf("%s, %s: %d values at %d instants", f.ID, l.Name, len(l.Y), len(p.X))
				}
			}
		}
	}
	if len(page) > 2<<20 {
		t.Errorf("the page has %d bytes", len(page))
	}
}

func TestPageEscapes(t *testing.T) {
	runs := published(t)
	const evil = `</script><script>alert(1)</script><b onmouseover="x">`
	runs[0].Run.Broker, runs[0].Run.Rerun, runs[0].Phases[0].Name = evil, evil, evil
	runs[0].Marks[0].Name, runs[0].Invariants[0].Name = evil, evil
	runs[0].Run.Params["nodes"] = evil
	page := pageOf(t, runs)
	if strings.Contains(page, "<script>alert") || strings.Contains(page, "<b onmouseover") {
		t.Error("text of a result became part of the page")
	}
}
