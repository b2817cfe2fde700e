package streams

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/cluster/internal/leader"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

// takeChanges takes changes of nodes, writes the evaluations that they call for, and only then
// acknowledges them. A server that dies in between leaves them to another.
func (h *host) takeChanges() {
	leader.Sleep(h.ctx, h.turn(63))
	changed, err := h.consumer(stateStream, changeConsumer)
	for h.ctx.Err() == nil && err == nil {
		var taken []jetstream.Msg
		if taken, err = h.next(changed); err == nil && len(taken) > 0 {
			err = h.handle(taken)
		}
	}
	if h.ctx.Err() == nil {
		panic(fmt.Sprintf("streams: %s: take changes: %v", h.addr, err)) // nothing of this can fail while the server runs
	}
}

// next returns the next changes, as many as come within Options.Gather of the first.
func (h *host) next(c jetstream.Consumer) ([]jetstream.Msg, error) {
	first, err := take(h.ctx, c)
	if first == nil {
		return nil, err
	}
	h.taken(h.c.stateHome(), keyOf(first), 1)
	taken := []jetstream.Msg{first}
	if h.c.opts.Gather == 0 {
		return taken, nil
	}
	leader.Sleep(h.ctx, h.c.opts.Gather)
	more, err := c.FetchNoWait(gatherMost)
	if err != nil {
		return nil, err
	}
	for m := range more.Messages() {
		taken = append(taken, m)
	}
	if len(taken) > 1 {
		h.taken(h.c.stateHome(), keyOf(taken[1]), len(taken)-1)
	}
	return taken, more.Error()
}

// gatherMost is how many changes a server takes at a time.
const gatherMost = 4096

// take waits for a message; nil if none has come for a while.
func take(ctx context.Context, c jetstream.Consumer) (jetstream.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, takeTimeout)
	defer cancel()
	m, err := c.Next(jetstream.FetchContext(ctx))
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, jetstream.ErrNoMessages) || errors.Is(err, nats.ErrTimeout) {
		return nil, nil
	}
	return m, err
}

// takeTimeout is how long one request for a message lasts.
const takeTimeout = 10 * time.Minute

// handle writes the evaluations that changes call for, and acknowledges the changes.
func (h *host) handle(taken []jetstream.Msg) error {
	seq := uint64(0)
	var nodes []string
	for _, m := range taken {
		seq = max(seq, sequence(m))
		nodes = append(nodes, nodeIn(m.Data())...)
	}
	if len(nodes) > 0 {
		snap, err := h.await(h.ctx, seq)
		if err != nil {
			return err
		}
		jobs := concerned(snap, nodes)
		h.c.use(h.id, "node-evals/"+keyOf(taken[0]), time.Duration(len(jobs))*h.c.cfg.Costs.RPC.NodeEval)
		var evals []message
		for _, job := range jobs {
			m, err := h.evaluation(job, broker.TriggeredByNodeUpdate, seq)
			if err != nil {
				return err
			}
			evals = append(evals, m)
		}
		if _, err := h.write(h.c.evalHome(), evals...); err != nil {
			return err
		}
	}
	for _, m := range taken {
		if err := h.ack(h.c.stateHome(), m, keyOf(m), EntryAcked); err != nil {
			return err
		}
	}
	return nil
}

// nodeIn returns the node that a message is about, if it calls for evaluations: one that has
// become ready, or is down.
func nodeIn(data []byte) []string {
	cmd, err := fsm.Decode(data)
	if err != nil {
		return nil // the view reports it
	}
	calls := func(status string) bool { return status == rpc.NodeStatusReady || status == rpc.NodeStatusDown }
	if r, ok := fsm.NodeRegister.Of(cmd); ok && calls(r.Node.Status) {
		return []string{r.Node.ID}
	}
	if r, ok := fsm.NodeUpdateStatus.Of(cmd); ok && calls(r.Status) {
		return []string{r.NodeID}
	}
	return nil
}

// concerned returns the jobs that changes of nodes may concern: jobs with allocations on these nodes,
// system jobs and, if one of the nodes is ready, jobs that run less than they ask for. Nomad would know
// of the latter by their blocked evaluations, which nobody keeps here.
func concerned(snap *state.Snapshot, nodes []string) []*rpc.Job {
	jobs := map[broker.JobID]*rpc.Job{}
	add := func(j *rpc.Job) { jobs[broker.JobID{Namespace: j.Namespace, ID: j.ID}] = j }
	room := false
	for _, id := range nodes {
		for _, a := range snap.NodeAllocs(id).All {
			add(leader.JobOf(snap, a))
		}
		n := snap.NodeByID(id)
		room = room || n != nil && n.Ready()
		for _, j := range snap.JobsByType(rpc.JobTypeSystem) {
			if n == nil || j.RunsIn(n.Datacenter) {
				add(j)
			}
		}
	}
	if room {
		for j := range snap.Jobs() {
			if lacks(snap, j) {
				add(j)
			}
		}
	}
	return slices.SortedFunc(maps.Values(jobs), func(a, b *rpc.Job) int {
		return strings.Compare(a.Namespace+"/"+a.ID, b.Namespace+"/"+b.ID)
	})
}

// lacks reports whether a job with a count runs less than that.
func lacks(snap *state.Snapshot, j *rpc.Job) bool {
	if j.Stop || j.Type != rpc.JobTypeService && j.Type != rpc.JobTypeBatch {
		return false
	}
	want := 0
	for _, g := range j.TaskGroups {
		want += g.Count
	}
	return snap.JobAllocs(broker.JobID{Namespace: j.Namespace, ID: j.ID}).Live < want
}
