package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/apitypes"
	"github.com/simctl/simctl/cluster/state"
)

const (
	// kept is how many entries of the log a stream can go back (event_buffer_size).
	kept = 100
	// heartbeat is how often a stream says that it is there (nomad/stream/ndjson.go).
	heartbeat = 30 * time.Second
)

// eventTypes are Nomad's types of events by the entry of the log that causes them
// (nomad/state/events.go, MsgTypeEvents). Other entries cause none.
var eventTypes = map[string]string{
	"NodeRegisterRequestType": "NodeRegistration", "NodeBatchDeregisterRequestType": "NodeDeregistration",
	"UpsertNodeEventsType": "NodeStreamEvent", "NodeUpdateStatusRequestType": "NodeStreamEvent",
	"NodeUpdateEligibilityRequestType": "NodeDrain", "NodeUpdateDrainRequestType": "NodeDrain", "BatchNodeUpdateDrainRequestType": "NodeDrain",
	"EvalUpdateRequestType": "EvaluationUpdated", "AllocClientUpdateRequestType": "AllocationUpdated",
	"AllocUpdateDesiredTransitionRequestType": "AllocationUpdateDesiredStatus", "ApplyPlanResultsRequestType": "PlanResult",
	"JobRegisterRequestType": "JobRegistered", "JobDeregisterRequestType": "JobDeregistered", "JobBatchDeregisterRequestType": "JobBatchDeregistered",
	"DeploymentStatusUpdateRequestType": "DeploymentStatusUpdate",
}

// Events keeps the latest entries of the log for streams of events. The zero value is ready;
// it is safe for concurrent use.
type Events struct {
	mu      sync.Mutex
	entries []cluster.Applied // ascending
	changed chan struct{}     // closed by the next entry; nil if nobody waits
}

// Follow takes note of an entry that a server has applied. It is a cluster.Config's Follow.
func (e *Events) Follow(a cluster.Applied) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if n := len(e.entries); n > 0 && a.Index <= e.entries[n-1].Index {
		return // another server was sooner
	}
	if len(e.entries) == kept {
		e.entries = slices.Delete(e.entries, 0, 1)
	}
	e.entries = append(e.entries, a)
	if e.changed != nil {
		close(e.changed)
		e.changed = nil
	}
}

// after returns the entries after an index, whether some are gone already, and a channel that
// is closed when there are more.
func (e *Events) after(index uint64) (entries []cluster.Applied, gap bool, changed <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.changed == nil {
		e.changed = make(chan struct{})
	}
	from, _ := slices.BinarySearchFunc(e.entries, index+1, func(a cluster.Applied, index uint64) int {
		if a.Index < index {
			return -1
		}
		return 1
	})
	gap = len(e.entries) == kept && index > 0 && e.entries[0].Index > index+1
	return slices.Clone(e.entries[from:]), gap, e.changed
}

// subscription is what a client wants to hear.
type subscription struct {
	namespace string
	topics    map[api.Topic][]string // keys; "*" = all
}

// stream answers /v1/event/stream until the client goes, or is too slow.
func (a *API) stream(w http.ResponseWriter, r *http.Request) {
	q, err := parse(r)
	if err != nil {
		fail(w, err)
		return
	}
	sub := subscription{namespace: q.namespace, topics: map[api.Topic][]string{}}
	for _, topic := range r.URL.Query()["topic"] {
		name, key, ok := strings.Cut(topic, ":")
		if !ok {
			key = "*"
		}
		sub.topics[api.Topic(name)] = append(sub.topics[api.Topic(name)], key)
	}
	if len(sub.topics) == 0 {
		sub.topics[api.TopicAll] = []string{"*"}
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-cache")
	// ?index=N wants what came at N, too.
	a.sendEvents(r.Context(), w, sub, max(q.index, 1)-1, q.index == 0)
}

// sendEvents writes a line for each entry after an index that has events of a subscription.
func (a *API) sendEvents(ctx context.Context, w http.ResponseWriter, sub subscription, index uint64, oldest bool) {
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	line := func(v any) bool {
		text, err := json.Marshal(v)
		if err != nil {
			return false
		}
		return WriteLine(w, append(text, '\n')) == nil
	}
	if !line(struct{}{}) {
		return
	}
	for {
		entries, gap, changed := a.Events.after(index)
		if gap && !oldest {
			return // the client asks for what is gone, or was too slow: it must read anew
		}
		oldest = false
		for _, entry := range entries {
			index = entry.Index
			if events := sub.of(entry); len(events) > 0 && !line(&api.Events{Index: entry.Index, Events: events}) {
				return
			}
		}
		select {
		case <-changed:
		case <-beat.C:
			if !line(struct{}{}) {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// WriteLine writes a part of a stream, which the other end must take within a while.
func WriteLine(w http.ResponseWriter, text []byte) error {
	Renew(w)
	if _, err := bytes.NewReader(text).WriteTo(w); err != nil {
		return err
	}
	return http.NewResponseController(w).Flush()
}

// of returns the events of an entry that are asked for.
func (s subscription) of(entry cluster.Applied) []api.Event {
	kind, changes := eventTypes[entry.Type], entry.State.Changes()
	if kind == "" || changes == nil {
		return nil
	}
	var events []api.Event
	add := func(topic api.Topic, namespace, key string, others []string, payload func() any) {
		if s.wants(topic, namespace, key, others) {
			events = append(events, api.Event{
				Topic: topic, Type: kind, Key: key, FilterKeys: others, Index: entry.Index,
				Payload: map[string]any{topic.String(): payload()},
			})
		}
	}
	s.collect(entry.State, changes, add)
	return events
}

func (s subscription) collect(snap *state.Snapshot, c *state.Changes, add func(api.Topic, string, string, []string, func() any)) {
	for _, j := range c.Jobs {
		status := func() any { return apitypes.Job(j, apitypes.NewJobFacts(snap).Status(snap, j)) }
		add(api.TopicJob, j.Namespace, j.ID, nil, status)
	}
	for _, e := range c.Evals {
		add(api.TopicEvaluation, e.Namespace, e.ID, []string{e.JobID, e.DeploymentID}, func() any { return apitypes.Eval(e) })
	}
	for _, x := range c.Allocs {
		add(api.TopicAllocation, x.Namespace, x.ID, []string{x.JobID, x.DeploymentID}, func() any { return apitypes.Alloc(snap, x, nil) })
	}
	for _, n := range c.Nodes {
		add(api.TopicNode, "", n.ID, nil, func() any { return apitypes.Node(snap, n) })
	}
	for _, d := range c.Deployments {
		add(api.TopicDeployment, d.Namespace, d.ID, []string{d.JobID}, func() any { return apitypes.Deployment(d) })
	}
}

func (s subscription) wants(topic api.Topic, namespace, key string, others []string) bool {
	if namespace != "" && s.namespace != "*" && s.namespace != namespace {
		return false
	}
	for _, wanted := range slices.Concat(s.topics[topic], s.topics[api.TopicAll]) {
		if wanted == "*" || wanted == key || slices.Contains(others, wanted) {
			return true
		}
	}
	return false
}
