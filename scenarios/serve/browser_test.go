//go:build browser && unix

package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/simctl/simctl/internal/testbrowser"
	"github.com/simctl/simctl/reports"
	"github.com/simctl/simctl/scenarios"
)

// ink counts the colours of a chart.
const ink = `<script>
const ink = (c) => {
  const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data, seen = new Set();
  for (let i = 0; i < d.length; i += 4) if (d[i + 3] > 200) seen.add(d[i] + "," + d[i + 1] + "," + d[i + 2]);
  return seen.size;
};
</script>`

// visitor goes last. When the page shows three ready nodes and a paused broker, it registers a
// job whose metadata say what it saw: the page may talk to the server that it comes from.
const visitor = ink + `<script>
(() => {
  const timer = setInterval(() => {
    const marks = document.getElementById("marks").textContent;
    if (document.querySelector('[data-now="nodes_ready"]').textContent !== "3" || !marks.includes("the broker is paused")) return;
    clearInterval(timer);
    const saw = {
      colours: [...document.querySelectorAll("canvas")].map(ink), state: document.getElementById("state").textContent, faults,
      wide: document.documentElement.scrollWidth > document.documentElement.clientWidth,
    };
    fetch("/v1/jobs", { method: "PUT", body: JSON.stringify({ Job: { ID: "seen", Type: "batch", Meta: { saw: JSON.stringify(saw) },
      TaskGroups: [{ Name: "g", Tasks: [{ Name: "t", Driver: "mock_driver" }] }] } }) });
  }, 100);
})();
</script>`

// TestBrowserLivePage opens the live page in a real browser while the broker is paused.
func TestBrowserLivePage(t *testing.T) {
	var page bytes.Buffer
	if err := reports.LivePage(&page, "A cluster & its page", SamplesPath, KeptSamples); err != nil {
		t.Fatal(err)
	}
	o := options()
	o.Servers, o.Nodes, o.TimeScale = 1, 3, 0.2
	o.Page = []byte(testbrowser.Visited(page.String(), visitor))
	where := start(t, o)
	client, err := api.NewClient(&api.Config{Address: "http://" + where.HTTP.String()})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()

	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	defer browse(t, ctx, "http://"+where.HTTP.String()+"/")()

	paused := &api.SchedulerConfiguration{SchedulerAlgorithm: api.SchedulerAlgorithmBinpack, PreemptionConfig: api.PreemptionConfig{SystemSchedulerEnabled: true}}
	var job *api.Job
	for job == nil {
		// What was so before the first sample is no mark: it must change while the page is open.
		paused.PauseEvalBroker = !paused.PauseEvalBroker
		if _, _, err := client.Operator().SchedulerSetConfiguration(paused, nil); err != nil {
			t.Fatal(err)
		}
		select {
		case <-time.After(2 * sampleEvery):
		case <-ctx.Done():
			t.Fatal("the page did not come to show what happens")
		}
		job, _, _ = client.Jobs().Info("seen", nil) // an error: not yet
	}
	var saw struct {
		Colours []int
		State   string
		Faults  []string
		Wide    bool
	}
	if err := json.Unmarshal([]byte(job.Meta["saw"]), &saw); err != nil {
		t.Fatal(err)
	}
	if len(saw.Faults) > 0 || saw.Wide || !strings.HasSuffix(saw.State, "server-1 leads") {
		t.Errorf("the page says %q, is wide: %v, and complains: %q", saw.State, saw.Wide, saw.Faults)
	}
	if len(saw.Colours) != 3 {
		t.Fatalf("%d charts, want 3", len(saw.Colours))
	}
	for i, n := range saw.Colours {
		if n < 2 {
			t.Errorf("chart %d has %d colours: it shows nothing", i, n)
		}
	}
}

// browse shows a page to a browser until the function is called that it returns.
func browse(t *testing.T, ctx context.Context, url string) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	browser := testbrowser.Command(ctx, t.TempDir(), "--remote-debugging-port=0", "--window-size=390,800", url)
	browser.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	browser.Cancel = func() error { return syscall.Kill(-browser.Process.Pid, syscall.SIGKILL) }
	if err := browser.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- browser.Wait() }()
	return func() {
		cancel()
		<-ended
	}
}

// watcher goes last. It sends what it sees when a mark is there, and again when the run has ended.
const watcher = ink + `<script>
(() => {
  const seen = () => fetch(location.origin + "/seen", { method: "POST", body: JSON.stringify({
    ready: document.querySelector('[data-now="ready"]').textContent, entries: document.querySelector('[data-now="entries"]').textContent,
    colours: [...document.querySelectorAll("canvas")].map(ink), state: document.getElementById("state").textContent, faults,
    underWay: document.getElementById("faults").textContent, marks: document.getElementById("marks").textContent,
  }) });
  const wants = [() => document.getElementById("marks").textContent.includes("the last mark"), () => document.getElementById("state").textContent.includes("ended")];
  const timer = setInterval(() => {
    if (!wants[0]()) return;
    wants.shift();
    if (!wants.length) clearInterval(timer);
    setTimeout(seen, 100);
  }, 50);
})();
</script>`

// TestBrowserWatchedPage opens the page of a run in a real browser: a figure that nobody can tell is no zero there, and a
// password lets the browser read the samples, too.
func TestBrowserWatchedPage(t *testing.T) {
	var page bytes.Buffer
	if err := reports.LivePage(&page, "A run & its page", WatchedSamples, KeptSamples); err != nil {
		t.Fatal(err)
	}
	const token = "0123456789abcdef"
	o := WatchOptions{Listen: "127.0.0.1:0", Access: Access{Token: token}, Log: slog.New(slog.DiscardHandler)}
	w, err := Watch(o, []WatchedRun{{Name: "a+b", Page: []byte(testbrowser.Visited(page.String(), watcher))}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}()
	// What the page sees comes by a server that stands before this one.
	type sight struct {
		Ready, Entries, State, UnderWay, Marks string
		Colours                                []int
		Faults                                 []string
	}
	sights := make(chan sight, 2)
	to, err := url.Parse(w.URLs[0])
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/", httputil.NewSingleHostReverseProxy(to))
	mux.HandleFunc("POST /seen", func(_ http.ResponseWriter, r *http.Request) {
		var s sight
		if err := json.NewDecoder(r.Body).Decode(&s); err != nil {
			t.Error(err)
		}
		sights <- s
	})
	before := httptest.NewServer(mux)
	defer before.Close()

	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	defer browse(t, ctx, strings.Replace(before.URL, "://", "://anybody:"+token+"@", 1))()
	next := func() (s sight) {
		select {
		case s = <-sights:
		case <-ctx.Done():
			t.Fatal("the page did not come to show what happens")
		}
		if len(s.Faults) > 0 {
			t.Errorf("the page complains: %q", s.Faults)
		}
		return s
	}
	queues := map[string]int{"ready": 7, "unacked": 2, "pending": 3, "cancelable": 0}
	nodes := map[string]int{"ready": 5}
	w.Update(0, scenarios.Progress{Phase: "a", VirtualS: 1, RaftIndex: 100, Leader: "x", Queues: queues, Nodes: nodes})
	w.Update(0, scenarios.Progress{Phase: "a", VirtualS: 3, RaftIndex: 300, Leader: "x", Queues: queues, Nodes: nodes})
	w.Update(0, scenarios.Progress{Phase: "a", VirtualS: 5, RaftIndex: 500, Leader: "x", Nodes: nodes, Marks: []string{"the last mark"}, Faults: []string{"a fault"}})
	s := next()
	if s.Ready != "" || s.Entries != "100" || s.State != "0:05 since the start · phase a · x leads" || s.UnderWay != "a fault" || !strings.Contains(s.Marks, "phase a begins") {
		t.Errorf("the page shows %+v", s)
	}
	for i, n := range s.Colours {
		if n < 2 {
			t.Errorf("chart %d has %d colours: it shows nothing", i, n)
		}
	}
	w.End(0)
	if s := next(); s.State != "the run has ended" || s.Entries != "100" {
		t.Errorf("after the end, the page shows %+v", s)
	}
}
