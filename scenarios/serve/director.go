package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/simctl/simctl/cluster/httpapi"
	"github.com/simctl/simctl/internal/infile"
	"github.com/simctl/simctl/scenarios"
	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/agenda"
	"github.com/simctl/simctl/scenarios/internal/run"
	"github.com/simctl/simctl/scenarios/internal/scale"
	"github.com/simctl/simctl/scenarios/language"
)

// eventsPath is where events are sent and the faults under way are told.
const eventsPath = "/simctl/events"

// Limits of events that are sent.
const (
	maxAhead = 100_000 // events that have yet to come
	// answerWithin is how long whoever sends events waits for those that come at once.
	answerWithin = 10 * time.Second
)

// Status is what happens to a served cluster.
type Status struct {
	// Faults are those under way, and Events those that are to come.
	Faults []Pending `json:"faults"`
	Events []Pending `json:"events"`
}

// Pending is a fault that will end, or an event that will come.
type Pending struct {
	What string `json:"what"`
	// InS is in how many seconds; nil: the fault does not end by itself.
	InS *float64 `json:"in_s,omitempty"`
}

// director makes events happen while a cluster is served.
type director struct {
	factor float64
	live   *samples
	log    *slog.Logger
	sent   chan []planned

	turn   chan struct{}          // full while a goroutine reads events and hands them over
	reader *scenarios.EventReader // for that goroutine only

	mu     sync.Mutex
	faults []moment
	ahead  []moment
}

// planned is an event that was sent, and who is to be told how it goes; nobody if over is nil.
type planned struct {
	run.Event
	over func(error)
}

// moment is what happens at a time; the zero time is never.
type moment struct {
	what string
	at   time.Time
}

func newDirector(o *Options, live *samples, reader *scenarios.EventReader) *director {
	return &director{factor: o.TimeScale, live: live, log: o.Log, reader: reader, sent: make(chan []planned), turn: make(chan struct{}, 1)}
}

// run does what comes on a stage, which is the director's alone, until ctx is done.
func (d *director) run(ctx context.Context, stage *actions.Stage) {
	defer stage.EndBehaviours()
	ahead := agenda.New(stage, d.factor)
	var over []func()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		d.publish(stage, ahead)
		for _, tell := range over { // after publish, so that whoever is told finds the new status
			tell()
		}
		over = nil
		var due <-chan time.Time
		if at, ok := ahead.Next(); ok {
			timer.Reset(time.Until(at))
			due = timer.C
		}
		select {
		case <-ctx.Done():
			return
		case <-due:
			if err := ahead.Do(); err != nil { // of a fault that ends
				d.failed("a fault did not end well", err)
			}
		case got := <-ahead.Answers:
			_ = ahead.Take(got) // whoever asked is told of the error
		case events := <-d.sent:
			now := time.Now()
			for _, e := range events {
				what := describe(e.Action)
				ahead.Add(now.Add(e.At), e.Action, func(err error) {
					if err != nil {
						d.failed(what, err)
					}
					if e.over != nil {
						over = append(over, func() { e.over(err) })
					}
				})
			}
		}
	}
}

func (d *director) failed(what string, err error) {
	d.log.Warn("event failed", "event", what, "error", err)
	d.live.note(fmt.Sprintf("%s: %v", what, err))
}

// describe says what an action does. Some have no mark.
func describe(a actions.Action) string {
	if mark := a.Mark(); mark != "" {
		return mark
	}
	return fmt.Sprintf("%T", a)
}

// publish tells what is under way and what is to come.
func (d *director) publish(stage *actions.Stage, ahead *agenda.Agenda) {
	var faults, events []moment
	var names []string
	for what, due := range stage.Faults {
		faults = append(faults, moment{what, due})
		names = append(names, what)
	}
	for due, action := range ahead.Ahead {
		events = append(events, moment{describe(action), due})
	}
	d.live.underWay(names)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults, d.ahead = faults, events
}

func (d *director) status() Status {
	d.mu.Lock()
	defer d.mu.Unlock()
	return Status{Faults: pending(d.faults), Events: pending(d.ahead)}
}

func pending(moments []moment) []Pending {
	out := []Pending{}
	for _, m := range moments {
		p := Pending{What: m.what}
		if !m.at.IsZero() {
			p.InS = new(max(0, time.Until(m.at).Seconds()))
		}
		out = append(out, p)
	}
	return out
}

// ServeHTTP tells the status, after it has made the events happen that are sent.
func (d *director) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		if code, err := d.take(r); err != nil {
			httpapi.Renew(w)
			http.Error(w, err.Error(), code)
			return
		}
	} else if r.Method != http.MethodGet {
		http.Error(w, "GET tells the faults under way, POST makes events happen", http.StatusMethodNotAllowed)
		return
	}
	httpapi.AnswerJSON(w, r, d.status())
}

// take makes events happen that somebody sends, and waits for those that come at once.
func (d *director) take(r *http.Request) (code int, err error) {
	text, err := infile.ReadFrom(r.Body, infile.MostText)
	if err != nil {
		return http.StatusBadRequest, fmt.Errorf("read the events: %w", err)
	}
	patience, cancel := context.WithTimeout(r.Context(), answerWithin)
	defer cancel()
	over, waits, err := d.handOver(patience, text)
	switch bad, ok := errors.AsType[*language.Error](err); {
	case ok:
		return http.StatusBadRequest, bad
	case errors.Is(err, errBusy):
		return http.StatusServiceUnavailable, err
	case err != nil:
		return http.StatusTooManyRequests, err
	}
	var errs []error
	for range waits {
		select {
		case err := <-over:
			errs = append(errs, err)
		case <-patience.Done():
			return http.StatusOK, errors.Join(errs...) // the rest is among those to come
		}
	}
	return http.StatusConflict, errors.Join(errs...)
}

var errBusy = errors.New("the cluster is busy with an event before these: none of them will come")

// handOver reads the events of a text and hands them to run. If it can, it also remembers the behaviours of the text. It
// returns a channel with the error of each event that comes at once, and how many these events are.
func (d *director) handOver(patience context.Context, text []byte) (_ <-chan error, waits int, err error) {
	select {
	case d.turn <- struct{}{}:
		defer func() { <-d.turn }()
	case <-patience.Done():
		return nil, 0, errBusy
	}
	reader := *d.reader
	events, err := d.read(&reader, text)
	if err != nil {
		return nil, 0, err
	}
	over := make(chan error, len(events))
	var all []planned
	for _, e := range scale.Durations(events, d.factor) {
		p := planned{Event: e}
		if e.At == 0 {
			p.over = func(err error) { over <- err }
			waits++
		}
		all = append(all, p)
	}
	select {
	case d.sent <- all:
		d.reader = &reader
		return over, waits, nil
	case <-patience.Done():
		return nil, 0, errBusy
	}
}

// read reads events that somebody sends.
func (d *director) read(reader *scenarios.EventReader, text []byte) ([]run.Event, error) {
	events, err := reader.Read("events", text)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil && len(events)+len(d.ahead) > maxAhead {
		err = fmt.Errorf("events to come: %d before these, and %d of these; there can be %d", len(d.ahead), len(events), maxAhead)
	}
	return events, err
}
