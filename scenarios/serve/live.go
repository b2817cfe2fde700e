package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/httpapi"
	"github.com/simctl/simctl/cluster/rpc"
)

const (
	// SamplesPath is where the live page finds the stream of samples, of which the server
	// keeps KeptSamples for those who come later.
	SamplesPath = "/" + WatchedSamples
	KeptSamples = 600

	sampleEvery = time.Second
)

// sample is what the live page shows of one instant. A figure that nobody can tell is not there.
type sample struct {
	AtS     float64        `json:"at_s"`
	Phase   string         `json:"phase,omitempty"` // of a run
	Leader  string         `json:"leader"`
	Figures map[string]int `json:"figures"`
	Marks   []string       `json:"marks,omitempty"`  // what has happened since the last one
	Faults  []string       `json:"faults,omitempty"` // under way
}

// samples keeps the latest samples of a cluster. The zero value is ready; it is safe for
// concurrent use.
type samples struct {
	mu      sync.Mutex
	kept    [][]byte
	first   int           // the number of the first that is kept
	changed chan struct{} // closed by the next one; nil if nobody waits
	notes   []string      // for the next sample
	faults  []string
}

// note marks what happens at this instant.
func (s *samples) note(mark string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes = append(s.notes, mark)
}

// underWay tells which faults are under way from now on.
func (s *samples) underWay(faults []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = faults
}

func (s *samples) add(one sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one.Marks, one.Faults, s.notes = append(s.notes, one.Marks...), s.faults, nil
	text, err := json.Marshal(one)
	if err != nil {
		return // numbers and text: cannot fail
	}
	s.keep(fmt.Appendf(nil, "data: %s\n\n", text))
}

// end says why no more samples will come.
func (s *samples) end(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep(fmt.Appendf(nil, "event: end\ndata: %s\n\n", why))
}

// keep keeps an event of the stream. It is called with mu held.
func (s *samples) keep(event []byte) {
	s.kept = append(s.kept, event)
	if len(s.kept) > KeptSamples {
		s.kept[0] = nil
		s.kept = s.kept[1:]
		s.first++
	}
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// from returns the samples that are kept from a number on, the number of the next one, and a
// channel that is closed when there are more.
func (s *samples) from(n int) (text []byte, next int, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	next = s.first + len(s.kept)
	for i := max(n, s.first); i < next; i++ {
		text = append(text, s.kept[i-s.first]...)
	}
	return text, next, s.changed
}

// ServeHTTP sends all samples that are kept, and those to come, as events until the browser
// goes or the server ends.
func (s *samples) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	_ = http.NewResponseController(w).Flush() // the browser is connected, though the first sample is yet to come
	for next, over := 0, false; !over; {
		var text []byte
		var changed <-chan struct{}
		over = r.Context().Err() != nil // looked at first, so that all samples from before the end are sent
		if text, next, changed = s.from(next); len(text) > 0 && httpapi.WriteLine(w, text) != nil {
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
		}
	}
}

// run looks at a cluster every second until ctx is done.
func (s *samples) run(ctx context.Context, c *cluster.Cluster) {
	began := time.Now()
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	var last observation
	for {
		now := observe(c)
		s.add(now.since(last, time.Since(began)))
		last = now
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// countNodes adds the nodes by status, none of which has a status that is not there.
func (s *sample) countNodes(byStatus map[string]int) {
	for _, status := range []string{rpc.NodeStatusReady, rpc.NodeStatusDown, rpc.NodeStatusInit, rpc.NodeStatusDisconnected} {
		s.Figures["nodes_"+status] = byStatus[status]
	}
}

// observation is a cluster at one instant.
type observation struct {
	stats   cluster.Stats
	members []cluster.Member
	paused  bool
}

func observe(c *cluster.Cluster) observation {
	o := observation{stats: c.Stats(), members: c.Members()}
	if v, err := c.View(context.Background(), max(0, c.Leader()), true); err == nil {
		o.paused = v.Store.Snapshot().SchedulerConfig().PauseEvalBroker
	}
	return o
}

// since returns the sample of an instant, given the one before it.
func (o observation) since(last observation, at time.Duration) sample {
	of := sample{AtS: at.Seconds(), Leader: o.stats.Leader, Figures: map[string]int{}}
	if b := o.stats.Broker; of.Leader != "" { // otherwise there is no broker
		of.Figures["pending"], of.Figures["ready"], of.Figures["unacked"], of.Figures["cancelable"] = b.Pending, b.Ready, b.Unacked, b.Cancelable
	}
	of.countNodes(o.stats.NodesByStatus)
	if last.members == nil {
		return of
	}
	of.Figures["entries"] = int(o.stats.LastIndex) - int(last.stats.LastIndex)
	for i, m := range o.members {
		switch was := last.members[i]; {
		case was.Running && !m.Running:
			of.Marks = append(of.Marks, m.Addr+" is down")
		case !was.Running && m.Running:
			of.Marks = append(of.Marks, m.Addr+" is up")
		}
		if m.Leads && !last.members[i].Leads {
			of.Marks = append(of.Marks, m.Addr+" leads")
		}
	}
	if o.paused != last.paused {
		of.Marks = append(of.Marks, map[bool]string{true: "the broker is paused", false: "the broker goes on"}[o.paused])
	}
	if n := int(o.stats.Counters.MissedHeartbeats) - int(last.stats.Counters.MissedHeartbeats); n > 0 {
		of.Marks = append(of.Marks, fmt.Sprintf("nodes that missed their heartbeats: %d", n))
	}
	return of
}

// withPage adds the live page, and the path of events, to what the API answers.
func (o *Options) withPage(s *samples, d http.Handler, next *httpapi.API) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", next)
	mux.Handle(eventsPath, next.Guard(d))
	if len(o.Page) > 0 {
		mux.Handle("GET "+SamplesPath, o.askBrowser(s))
		mux.Handle("GET /{$}", o.askBrowser(livePage(o.Page)))
	}
	return mux
}

// livePage is the text of a live page.
type livePage []byte

func (p livePage) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = httpapi.WriteLine(w, p) // the browser has gone if this fails
}
