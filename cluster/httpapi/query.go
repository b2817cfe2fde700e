package httpapi

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/hashicorp/go-bexpr"
	"github.com/hashicorp/nomad/api"

	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/apitypes"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

// Blocking queries wait for as long as they ask, but at most for maxWait, which is also the default. On top comes
// a random time of up to a sixteenth of the wait (nomad/rpc.go, blockingRPC).
const (
	maxWait    = 5 * time.Minute
	waitJitter = 16
)

// query is what the parameters of a request say.
type query struct {
	namespace string // "*" = all
	prefix    string
	index     uint64 // wait for a later one; zero = do not wait
	wait      time.Duration
	stale     bool
	perPage   int // zero = all
	nextToken string
	filter    *bexpr.Evaluator // nil = all
}

// parse reads the parameters that all endpoints share.
func parse(r *http.Request) (*query, error) {
	p := r.URL.Query()
	q := &query{namespace: p.Get("namespace"), prefix: p.Get("prefix"), stale: p.Has("stale"), nextToken: p.Get("next_token"), wait: maxWait}
	if q.namespace == "" {
		q.namespace = rpc.DefaultNamespace
	}
	if region := p.Get("region"); region != "" && region != apitypes.Region {
		return nil, errorf(http.StatusInternalServerError, "No path to region")
	}
	if filter := p.Get("filter"); filter != "" {
		var err error
		if q.filter, err = newFilter(filter); err != nil {
			return nil, errorf(http.StatusBadRequest, "%s: %v", api.ResultPaginatorErrorContent, err)
		}
	}
	if wait := p.Get("wait"); wait != "" {
		d, err := time.ParseDuration(wait)
		if err != nil {
			return nil, errorf(http.StatusBadRequest, "Invalid wait time")
		}
		if d > 0 {
			q.wait = min(d, maxWait)
		}
	}
	q.wait += rand.N(q.wait/waitJitter + 1)
	if index := p.Get("index"); index != "" {
		i, err := strconv.ParseUint(index, 10, 64)
		if err != nil {
			return nil, errorf(http.StatusBadRequest, "Invalid index")
		}
		q.index = i
	}
	if size := p.Get("per_page"); size != "" {
		n, err := strconv.ParseInt(size, 10, 32)
		if err != nil || n < 0 {
			return nil, errorf(http.StatusBadRequest, "per_page %q: it must be a whole number that is not negative", size)
		}
		q.perPage = int(n)
	}
	return q, nil
}

// in reports whether a row of a namespace is asked for.
func (q *query) in(namespace string) bool { return q.namespace == "*" || q.namespace == namespace }

// answer is what a read comes to on one state.
type answer struct {
	index uint64
	// body is called when the answer is sent: blocking queries ask for the index often. Next is
	// the token of the next page.
	body func() (v any, next string, err error)
	// missing is the error if the one thing that was to be read is not there; body is then nil.
	missing string
}

// all is the answer that has no further pages.
func all(index uint64, body func() any) answer {
	return answer{index: index, body: func() (any, string, error) { return body(), "", nil }}
}

// read returns the handler of a call that reads the state.
func (a *API) read(look func(s *state.Snapshot, r *http.Request, q *query) (answer, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q, err := parse(r)
		if err != nil {
			fail(w, err)
			return
		}
		got, view, err := a.await(r, q, look)
		if err != nil {
			fail(w, err)
			return
		}
		setMeta(w, got.index, view)
		if got.body == nil {
			fail(w, errorf(http.StatusNotFound, "%s", got.missing))
			return
		}
		select {
		case a.answers <- struct{}{}:
			defer func() { <-a.answers }()
		case <-r.Context().Done():
			return
		}
		body, next, err := got.body()
		if err != nil {
			fail(w, err)
			return
		}
		if next != "" {
			w.Header().Set("X-Nomad-NextToken", next)
		}
		AnswerJSON(w, r, body)
	})
}

// setMeta sets the headers that clients want of every read.
func setMeta(w http.ResponseWriter, index uint64, v cluster.View) {
	h := w.Header()
	h.Set("X-Nomad-Index", strconv.FormatUint(max(index, 1), 10))
	h.Set("X-Nomad-LastContact", strconv.FormatInt(v.LastContact.Milliseconds(), 10))
	h.Set("X-Nomad-KnownLeader", strconv.FormatBool(v.KnownLeader))
}

// await looks until there is an answer after the index that the query names, or until the
// query has waited long enough.
func (a *API) await(r *http.Request, q *query, look func(*state.Snapshot, *http.Request, *query) (answer, error)) (answer, cluster.View, error) {
	ctx := r.Context()
	enough := time.After(q.wait)
	waited := false
	for {
		view, err := a.view(ctx, q.stale)
		if err != nil {
			return answer{}, view, err
		}
		for view.Store != nil {
			changed := view.Store.Changed()
			got, err := look(view.Store.Snapshot(), r, q)
			if err != nil || waited || q.index == 0 || max(got.index, 1) > q.index {
				return got, view, err
			}
			select {
			case <-changed:
			case <-enough:
				waited = true
			case <-view.Done:
				view.Store = nil // another server goes on with it
			case <-ctx.Done():
				return answer{}, view, ctx.Err()
			}
		}
	}
}

// view returns what a read is answered from.
func (a *API) view(ctx context.Context, stale bool) (cluster.View, error) {
	return a.Cluster.View(ctx, a.agent(), stale)
}

// agent returns the number of the server whose agent this is: the first that runs.
func (a *API) agent() int {
	for _, m := range a.Cluster.Members() {
		if m.Running {
			return m.ID
		}
	}
	return 0
}

// fresh returns the leader's state, after a write.
func (a *API) fresh(ctx context.Context) (*state.Snapshot, error) {
	view, err := a.view(ctx, false)
	if err != nil {
		return nil, err
	}
	return view.Store.Snapshot(), nil
}

// listing is how rows of one kind are listed.
type listing[R, S any] struct {
	token func(R) string
	keep  func(R) bool
	shape func(R) S
	// whole is the row as filters see it, with more than the list shows.
	whole func(R) any
}

// page returns those rows that are asked for, in their order. With ?per_page there are so
// many, from ?next_token on, and a token for the rest.
func page[R, S any](q *query, rows iter.Seq[R], as listing[R, S]) (found any, next string, err error) {
	all := []S{}
	for row := range rows {
		if q.nextToken != "" && as.token(row) < q.nextToken || !as.keep(row) {
			continue
		}
		if q.filter != nil {
			if matches, err := q.filter.Evaluate(as.whole(row)); err != nil {
				return nil, "", errorf(http.StatusBadRequest, "failed to read result page: %v", err)
			} else if !matches {
				continue
			}
		}
		if q.perPage > 0 && len(all) == q.perPage {
			return all, as.token(row), nil
		}
		all = append(all, as.shape(row))
	}
	return all, "", nil
}

// newFilter reads a filter expression, which says which rows are wanted.
func newFilter(text string) (*bexpr.Evaluator, error) {
	if len(text) > maxFilter {
		return nil, fmt.Errorf("failed to read filter expression: it is longer than %d bytes", maxFilter)
	}
	filter, err := bexpr.CreateEvaluator(text, bexpr.WithMaxExpressions(maxFilterTerms))
	if err != nil {
		return nil, fmt.Errorf("failed to read filter expression: %w", err)
	}
	return filter, nil
}

// Bounds of a filter: reading one takes time and memory.
const (
	maxFilter      = 8 << 10
	maxFilterTerms = 100_000
)
