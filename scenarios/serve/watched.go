package serve

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"

	"github.com/simctl/simctl/scenarios"
)

// WatchOptions says where browsers watch runs.
type WatchOptions struct {
	Listen string
	Access
	Log *slog.Logger
}

// WatchedRun is a run that browsers watch.
type WatchedRun struct {
	Name string
	Page []byte // reads the samples at WatchedSamples
}

// WatchedSamples is where the page of a run finds its samples, beside the page.
const WatchedSamples = "live/samples"

// Check says what is wrong with the options, naming the flag of the command.
func (o *WatchOptions) Check() error { return o.Access.check("listen", o.Listen) }

// Watched shows runs on live pages while they go on. Its methods are safe for concurrent use.
type Watched struct {
	// URLs are those of the pages.
	URLs []string

	runs  []*follower
	stop  context.CancelFunc
	ended chan error
}

// follower makes samples of what a run tells of itself.
type follower struct {
	WatchedRun
	samples

	mu      sync.Mutex
	last    scenarios.Progress
	leader  string  // the last one that there was
	sampled bool    // the last progress is a sample
	at      float64 // of the last sample
	index   uint64  // of the last sample; 0 = nobody could tell
	over    bool
}

// Watch listens until Close, and has a page for each run, whose names differ.
func Watch(o WatchOptions, runs []WatchedRun) (*Watched, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	ln, err := net.Listen("tcp", o.Listen)
	if err != nil {
		return nil, fmt.Errorf("--listen: %w", err)
	}
	w := &Watched{ended: make(chan error, 1)}
	base := "http://" + addrOf(ln).String() + "/"
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", http.RedirectHandler(url.PathEscape(runs[0].Name)+"/", http.StatusFound))
	mux.Handle("GET /{run}/{$}", w.of(func(f *follower) http.Handler { return livePage(f.Page) }))
	mux.Handle("GET /{run}"+SamplesPath, w.of(func(f *follower) http.Handler { return f }))
	for _, r := range runs {
		w.runs, w.URLs = append(w.runs, &follower{WatchedRun: r}), append(w.URLs, base+url.PathEscape(r.Name)+"/")
	}
	if len(runs) == 1 {
		w.URLs = []string{base}
	}
	ctx, stop := context.WithCancel(context.Background())
	w.stop = stop
	go func() { w.ended <- listen(ctx, ln, nil, o.guard(o.askBrowser(mux)), o.Log) }()
	return w, nil
}

// of answers for the run that a path names.
func (w *Watched) of(answer func(*follower) http.Handler) http.Handler {
	return http.HandlerFunc(func(to http.ResponseWriter, r *http.Request) {
		i := slices.IndexFunc(w.runs, func(f *follower) bool { return f.Name == r.PathValue("run") })
		if i < 0 {
			http.NotFound(to, r)
			return
		}
		answer(w.runs[i]).ServeHTTP(to, r)
	})
}

// Update shows how far a run is.
func (w *Watched) Update(run int, p scenarios.Progress) { w.runs[run].update(p) }

// End shows that a run has ended.
func (w *Watched) End(run int) { w.runs[run].finish("the run has ended") }

// Close ends the pages, which tell those who watch. Runs that have not ended are broken off.
func (w *Watched) Close() error {
	for _, f := range w.runs {
		f.finish("the run was broken off")
	}
	w.stop()
	return <-w.ended
}

func (f *follower) finish(why string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over {
		return
	}
	if f.over = true; f.last.Phase != "" && !f.sampled {
		f.add(f.sample())
	}
	f.end(why)
}

// update notes what has happened, and adds a sample unless the last one was a moment ago.
func (f *follower) update(p scenarios.Progress) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, mark := range p.Marks {
		f.note(mark)
	}
	if p.Leader != f.leader && p.Leader != "" {
		f.note(p.Leader + " leads")
		f.leader = p.Leader
	}
	f.underWay(p.Faults)
	first := f.last.Phase == ""
	if p.Phase != f.last.Phase {
		f.note(fmt.Sprintf("phase %s begins (%d of %d)", p.Phase, p.PhaseIndex+1, p.Phases))
	}
	f.last = p
	if f.sampled = first || p.VirtualS >= f.at+sampleEvery.Seconds(); f.sampled {
		f.add(f.sample())
	}
}

// sample returns the sample of the last progress. Without a leader, nobody can tell what there is.
func (f *follower) sample() sample {
	p := f.last
	of := sample{AtS: p.VirtualS, Phase: p.Phase, Leader: p.Leader, Figures: map[string]int{}}
	before, since := f.index, p.VirtualS-f.at
	f.at, f.index = p.VirtualS, 0
	if p.Leader == "" {
		return of
	}
	for queue, n := range p.Queues {
		of.Figures[queue] = n
	}
	if p.Nodes != nil {
		of.countNodes(p.Nodes)
	}
	if f.index = p.RaftIndex; before > 0 && since > 0 {
		of.Figures["entries"] = int(float64(f.index-before)/since + 0.5)
	}
	return of
}
