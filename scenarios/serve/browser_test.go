//go:build browser && unix

package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/simctl/simctl/internal/testbrowser"
	"github.com/simctl/simctl/reports"
)

// visitor goes last. When the page shows three ready nodes and a paused broker, it registers a
// job whose metadata say what it saw: the page may talk to the server that it comes from.
const visitor = `<script>
(() => {
  const ink = (c) => {
    const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data, seen = new Set();
    for (let i = 0; i < d.length; i += 4) if (d[i + 3] > 200) seen.add(d[i] + "," + d[i + 1] + "," + d[i + 2]);
    return seen.size;
  };
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
	browser := testbrowser.Command(ctx, t.TempDir(), "--remote-debugging-port=0", "--window-size=390,800", "http://"+where.HTTP.String()+"/")
	browser.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	browser.Cancel = func() error { return syscall.Kill(-browser.Process.Pid, syscall.SIGKILL) }
	if err := browser.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- browser.Wait() }()
	defer func() {
		cancel()
		<-ended
	}()

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
