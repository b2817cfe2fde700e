package realcluster

import (
	"maps"
	"net/http"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/internal/pacer"
)

// evals is what is known of the evaluations in state.
//
// Counting them takes so much of the servers' time that it would change the run. So while the log grows, servers are
// asked only how many are canceled, as often as the pacer allows. The other numbers are guessed from what the broker
// holds and from the acks it has seen. When the log rests and no scheduler works, the evaluations of each status are counted.
type evals struct {
	pace     pacer.Pacer
	byStatus map[string]uint64
	before   map[string]uint64 // as they were at the first look
	created  uint64            // how many were created since the first look, or were not over then
	canceled uint64            // how many in the state are canceled
	first    uint64            // how many were over at the first look
	// From the last count: the log's index, how many were over, and the sum of acks and canceled evaluations.
	// That sum grows by one with each evaluation that ends.
	index uint64
	over  uint64
	then  float64
	rests uint64 // the log's index at the look before
	// last is that sum at the look before. Depth is what the broker said last that it holds, and told is the
	// sum at the look before it first said so: depth may be as old as that.
	last, told float64
	depth      float64
	// stale says that the leader has changed since the last count. The new leader's broker holds again what
	// the old one's had seen acked last, so that a guess of created would be too high.
	stale bool
	// retries says that evaluations are or were blocked. The broker holds them again when they are retried.
	retries bool
	// How many evaluations have been deleted: gone those that were over, by status, and dropped the others.
	gone    map[string]uint64
	dropped uint64
	counted map[string]uint64 // by status, as they were counted last
	again   bool              // count next time in any case: something was deleted, or the last two counts differ
	// working says that schedulers have evaluations, so that the log goes on by itself.
	working bool
	// list says that servers do not count, as before 1.4.3: they list.
	list bool
}

// look looks at the evaluations. Depth is what the broker holds, cancelable included, and acked
// what it has seen acked.
func (e *evals) look(client *api.Client, index uint64, depth, acked float64) error {
	rests, ask := index == e.rests && !e.working, !e.list && !e.pace.Rests()
	e.rests = index
	switch {
	case e.byStatus == nil || e.again || rests && index != e.index:
		was := e.counted
		if err := e.take(client, index, acked); err != nil {
			return err
		}
		// The state of a busy server may be behind its log even when that rests, so count until two counts agree.
		// Listing is too costly to be done twice.
		e.again = rests && !e.list && !maps.Equal(was, e.counted)
		return nil
	case index != e.index && depth == 0:
		return e.doubt(client, index, acked, ask)
	case index != e.index:
		return e.guess(client, depth, acked, ask)
	}
	return nil
}

// doubt asks the state when the broker says that it holds nothing: so it does while it is paused, and so does a new leader's
// until it has told its figures.
func (e *evals) doubt(client *api.Client, index uint64, acked float64, ask bool) error {
	pending := e.counted[broker.StatusPending] // which stays so if servers do not count, until the log rests
	if !e.list && !ask {
		return nil
	}
	if ask {
		var err error
		if pending, err = e.countOf(client, broker.StatusPending); err != nil {
			return err
		}
	}
	switch {
	case pending == 0:
		return e.guess(client, 0, acked, ask)
	case e.list:
		return nil
	}
	return e.take(client, index, acked)
}

// over are the statuses of evaluations that no scheduler looks at again.
var over = []string{broker.StatusComplete, broker.StatusFailed, broker.StatusCanceled}

// take counts the evaluations.
func (e *evals) take(client *api.Client, index uint64, acked float64) error {
	byStatus, total, err := e.count(client)
	if err != nil {
		return err
	}
	if e.byStatus == nil {
		e.before, e.gone = byStatus, map[string]uint64{}
		for _, status := range over {
			e.first += byStatus[status]
		}
	}
	went := e.dropped
	for _, status := range over {
		if was, now := e.counted[status], byStatus[status]; now < was {
			e.gone[status] += was - now
		}
		went += e.gone[status]
	}
	e.byStatus, e.counted, e.index, e.canceled, e.again = byStatus, byStatus, index, byStatus[broker.StatusCanceled], false
	e.over = total - byStatus[broker.StatusPending] - byStatus[broker.StatusBlocked]
	e.then, e.stale = acked+float64(e.canceled), false
	e.last, e.told = e.then, e.then
	e.created = max(total+went, e.first) - e.first
	return nil
}

// ended returns how many evaluations of a status, which is over, there have been since the first look.
func (e *evals) ended(status string) uint64 {
	return max(e.byStatus[status]+e.gone[status], e.before[status]) - e.before[status]
}

// since returns the evaluations by status, less those that were over at the first look.
func (e *evals) since() map[string]uint64 {
	of := maps.Clone(e.byStatus)
	for _, status := range over {
		if of[status] > e.before[status] {
			of[status] -= e.before[status]
		} else {
			delete(of, status)
		}
	}
	return of
}

// guess works out what the evaluations are while they change. It asks how many are canceled if it may.
func (e *evals) guess(client *api.Client, depth, acked float64, ask bool) error {
	if ask {
		n, err := e.countOf(client, broker.StatusCanceled)
		if err != nil {
			return err
		}
		e.canceled = n
	}
	told := acked + float64(e.canceled)
	over := max(float64(e.over)+told-e.then, 0)
	failed, blocked := e.byStatus[broker.StatusFailed], e.byStatus[broker.StatusBlocked]
	if depth != e.depth {
		e.depth, e.told = depth, e.last
	}
	e.last = told
	// Depth is a second old, and older while servers are busy. So it includes evaluations that were acked since, which are
	// in over as well, and are subtracted.
	sure := over + max(depth-max(told-e.told, 0), 0)
	if e.retries = e.retries || blocked > 0; e.retries {
		// Depth may also include evaluations that were blocked and acked before: these are in over as well. So it is left out.
		if sure = over; ask {
			var err error
			if blocked, err = e.countOf(client, broker.StatusBlocked); err != nil {
				return err
			}
			sure += float64(blocked)
		}
	}
	e.byStatus = map[string]uint64{
		broker.StatusPending: uint64(max(depth, 0)), broker.StatusCanceled: e.canceled, broker.StatusFailed: failed, broker.StatusBlocked: blocked,
		broker.StatusComplete: max(uint64(over), e.canceled+failed) - e.canceled - failed,
	}
	there := uint64(sure) + e.dropped
	for _, n := range e.gone {
		there += n
	}
	if !e.stale {
		e.created = max(e.created+e.first, there) - e.first
	}
	return nil
}

// count counts the evaluations by status.
func (e *evals) count(client *api.Client) (byStatus map[string]uint64, total uint64, err error) {
	if e.list {
		return listed(client)
	}
	byStatus = map[string]uint64{}
	for _, status := range broker.Statuses {
		n, err := e.countOf(client, status)
		if e.list {
			return listed(client)
		}
		if err != nil {
			return nil, 0, err
		}
		if n > 0 {
			byStatus[status] = n
		}
		total += n
	}
	return byStatus, total, nil
}

// countOf counts the evaluations of a status. It sets list if servers do not count.
func (e *evals) countOf(client *api.Client, status string) (uint64, error) {
	defer e.pace.Asked(time.Now())
	n, err := matching(client, evalFilter(status, ""), true)
	if err != nil {
		// Those that know nothing of counting say that it is not found, and those that cannot filter
		// that the request is bad.
		if a, ok := err.(api.UnexpectedResponseError); ok && (a.StatusCode() == http.StatusNotFound || a.StatusCode() == http.StatusBadRequest) {
			e.list = true
		}
		return 0, asError(err)
	}
	return n, nil
}

// matching returns how many evaluations match a filter.
func matching(client *api.Client, filter string, stale bool) (uint64, error) {
	resp, _, err := client.Evaluations().Count(&api.QueryOptions{Namespace: api.AllNamespacesNamespace, AllowStale: stale, Filter: filter})
	if err != nil {
		return 0, err
	}
	return uint64(resp.Count), nil
}

// listed counts the evaluations by listing them, all in one answer: servers before 1.4.3 lose their
// way from page to page if the list is of all namespaces.
func listed(client *api.Client) (byStatus map[string]uint64, total uint64, err error) {
	all, _, err := client.Evaluations().List(&api.QueryOptions{Namespace: api.AllNamespacesNamespace, AllowStale: true})
	if err != nil {
		return nil, 0, asError(err)
	}
	byStatus = map[string]uint64{}
	for _, e := range all {
		byStatus[e.Status]++
	}
	return byStatus, uint64(len(all)), nil
}
