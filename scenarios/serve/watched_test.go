package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/simctl/simctl/scenarios"
)

// watching has pages for runs of these names until the test ends.
func watching(t *testing.T, token string, names ...string) *Watched {
	t.Helper()
	var runs []WatchedRun
	for _, name := range names {
		runs = append(runs, WatchedRun{Name: name, Page: []byte("the page of " + name)})
	}
	w, err := Watch(WatchOptions{Listen: "127.0.0.1:0", Access: Access{Token: token}, Log: slog.New(slog.DiscardHandler)}, runs)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// ask makes a request, whose body the caller reads.
func ask(t *testing.T, url string, change func(*http.Request)) *http.Response {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), limit)
	t.Cleanup(stop)
	req, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(req)
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// TestWatchedSamples: a sample a second, whatever is told more often, with every mark. What nobody can tell is absent.
func TestWatchedSamples(t *testing.T) {
	w := watching(t, "", "one", "no+1/2")
	stream := bufio.NewScanner(ask(t, w.URLs[0]+WatchedSamples, nil).Body)
	quiet := map[string]int{"ready": 1, "unacked": 2, "pending": 3, "cancelable": 0}
	for _, p := range []scenarios.Progress{
		{Phase: "a", VirtualS: 1, RaftIndex: 100, Leader: "x", Queues: quiet, Nodes: map[string]int{"ready": 5}},
		{Phase: "a", VirtualS: 1.5, RaftIndex: 150, Leader: "x", Marks: []string{"one mark"}},
		{Phase: "a", VirtualS: 3, RaftIndex: 300, Leader: "x", Marks: []string{"another"}, Faults: []string{"a fault"}},
		{Phase: "a", VirtualS: 4, RaftIndex: 300, Nodes: map[string]int{"ready": 5}}, // as it was last seen
		{Phase: "a", VirtualS: 5, RaftIndex: 400, Leader: "y"},
		{Phase: "b", PhaseIndex: 1, Phases: 2, VirtualS: 5.1, RaftIndex: 410, Leader: "y"},
	} {
		w.Update(0, p)
	}
	w.End(0)
	of := func(figures ...any) map[string]int {
		all := map[string]int{}
		for i := 0; i < len(figures); i += 2 {
			all[figures[i].(string)] = figures[i+1].(int)
		}
		return all
	}
	for _, want := range []sample{
		{AtS: 1, Phase: "a", Leader: "x", Marks: []string{"x leads", "phase a begins (1 of 0)"}, Figures: of("ready", 1, "unacked", 2, "pending", 3, "cancelable", 0,
			"nodes_ready", 5, "nodes_down", 0, "nodes_initializing", 0, "nodes_disconnected", 0)},
		{AtS: 3, Phase: "a", Leader: "x", Marks: []string{"one mark", "another"}, Faults: []string{"a fault"}, Figures: of("entries", 100)},
		{AtS: 4, Phase: "a", Figures: of()},
		{AtS: 5, Phase: "a", Leader: "y", Marks: []string{"y leads"}, Figures: of()},
		{AtS: 5.1, Phase: "b", Leader: "y", Marks: []string{"phase b begins (2 of 2)"}, Figures: of("entries", 100)},
	} {
		var got sample
		line := next(t, stream)
		if err := json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %s, %v, want %+v", line, err, want)
		}
	}
	if a, b := next(t, stream), next(t, stream); a != "event: end" || b != "data: the run has ended" {
		t.Errorf("it ends with %q, %q", a, b)
	}
	// Who comes later, or watches another run, is told of its end, too.
	other := bufio.NewScanner(ask(t, w.URLs[1]+WatchedSamples, nil).Body)
	late := ask(t, w.URLs[0]+WatchedSamples, nil)
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if a, b := next(t, other), next(t, other); a != "event: end" || b != "data: the run was broken off" || other.Scan() && other.Text() != "" {
		t.Errorf("a run that has not ended ends with %q, %q", a, b)
	}
	if text, err := io.ReadAll(late.Body); err != nil || !strings.HasSuffix(string(text), "data: the run has ended\n\n") || strings.Count(string(text), "data: ") != 6 {
		t.Errorf("later, it is %q, %v", text, err)
	}
}

// next returns the next line of a stream that is not empty.
func next(t *testing.T, stream *bufio.Scanner) string {
	t.Helper()
	for stream.Scan() {
		if line := stream.Text(); line != "" {
			return line
		}
	}
	t.Fatalf("the stream has ended: %v", stream.Err())
	return ""
}

// TestWatchedPages: each run has its page, which only this machine and who knows the token sees.
func TestWatchedPages(t *testing.T) {
	const token = "0123456789abcdef"
	open, closed := watching(t, "", "one", "no+1/2"), watching(t, token, "one")
	defer func() {
		for _, w := range []*Watched{open, closed} {
			if err := w.Close(); err != nil {
				t.Error(err)
			}
		}
	}()
	base := strings.TrimSuffix(open.URLs[0], "one/")
	for _, c := range []struct {
		what, url string
		change    func(*http.Request)
		code      int
		text      string
	}{
		{"the first run", base, nil, 200, "the page of one"},
		{"a run", open.URLs[0], nil, 200, "the page of one"},
		{"another", open.URLs[1], nil, 200, "the page of no+1/2"},
		{"no run", base + "two/", nil, 404, ""},
		{"its samples", base + "two" + SamplesPath, nil, 404, ""},
		{"another site's name", base, func(r *http.Request) { r.Host = "attacker.example" }, 403, "loopback"},
		{"no token", closed.URLs[0], nil, 401, "SIMCTL_TOKEN"},
		{"a wrong one", closed.URLs[0], func(r *http.Request) { r.SetBasicAuth("", token+"0") }, 401, ""},
		{"no token for samples", closed.URLs[0] + "one" + SamplesPath, nil, 401, ""},
		{"the token", closed.URLs[0], func(r *http.Request) { r.SetBasicAuth("anybody", token) }, 200, "the page of one"},
	} {
		resp := ask(t, c.url, c.change)
		text, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != c.code || !strings.Contains(string(text), c.text) {
			t.Errorf("%s: %s, %q, %v; want %d and %q", c.what, resp.Status, text, err, c.code, c.text)
		}
	}
	for want, o := range map[string]WatchOptions{
		"--listen \"0.0.0.0:0\": other machines reach": {Listen: "0.0.0.0:0"},
		"set SIMCTL_TOKEN":              {Listen: "0.0.0.0:0", Access: Access{AllowRemote: true, Token: "short"}},
		"--listen \"8080\": it must be": {Listen: "8080"},
	} {
		if _, err := Watch(o, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", o, err, want)
		}
	}
}
