package streams

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/cluster/internal/leader"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/scheduler"
	"github.com/simctl/simctl/cluster/simnet"
	"github.com/simctl/simctl/internal/uuid"
)

// host is one server: a view, heartbeat timers, a taker of changes and workers.
type host struct {
	c    *Cluster
	id   int
	addr string
	seed uint64
	nc   *nats.Conn
	js   jetstream.JetStream
	view
	cache   *scheduler.Cache
	beats   *beats
	reports *leader.Batcher[fsm.AllocClientUpdateRequest]

	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	crewMu  sync.Mutex
	crew    context.CancelFunc // ends the workers
	crews   int                // how often workers were replaced
	workers sync.WaitGroup
}

// The servers that lead each stream. A real cluster of NATS servers spreads them likewise.
func (c *Cluster) evalHome() int  { return 0 }
func (c *Cluster) stateHome() int { return 1 % c.cfg.Servers }

func (c *Cluster) startHost(ctx context.Context, id int) (_ *host, err error) {
	h := &host{c: c, id: id, addr: addr(id), cache: scheduler.NewCache(), crew: func() {}}
	h.seed = simnet.HashStrings(uint64(c.cfg.Seed), "streams", h.addr)
	if h.nc, h.js, err = connect(c.nats, h.addr); err != nil {
		return nil, err
	}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	h.beats = newBeats(h.expire)
	h.reports = leader.NewBatcher(c.cfg.BatchUpdateInterval, mergeReports, h.writeReports)
	if err := errors.Join(h.follow(ctx), h.listen()); err != nil {
		h.stop()
		return nil, err
	}
	h.wg.Go(h.takeChanges)
	return h, nil
}

// stop ends what the server runs and waits for it.
func (h *host) stop() {
	h.cancel()
	h.store.EndWatches()
	h.beats.stop()
	h.reports.Stop()
	h.workers.Wait()
	h.wg.Wait()
	h.unfollow()
	h.nc.Close()
}

// endWorkers ends the workers, which finish what they have in hand.
func (h *host) endWorkers() {
	h.crewMu.Lock()
	defer h.crewMu.Unlock()
	h.crew()
	h.workers.Wait()
}

// startWorkers starts so many workers. There must be none.
func (h *host) startWorkers(n int) error {
	h.crewMu.Lock()
	defer h.crewMu.Unlock()
	var ctx context.Context
	ctx, h.crew = context.WithCancel(h.ctx)
	h.crews++
	for i := range n {
		work, err := h.consumer(evalStream, h.c.workOf(h.id*n+i))
		if err != nil {
			return err
		}
		w := newWorker(h, i, work)
		h.workers.Go(func() { w.run(ctx) })
	}
	return nil
}

// workOf returns the name of a worker's consumer.
func (c *Cluster) workOf(worker int) string {
	c.workMu.Lock()
	defer c.workMu.Unlock()
	return c.work[worker%len(c.work)].CachedInfo().Name
}

// consumer returns a consumer that the servers share, on this server's connection.
func (h *host) consumer(stream, name string) (jetstream.Consumer, error) {
	ctx, cancel := context.WithTimeout(h.ctx, apiTimeout)
	defer cancel()
	c, err := h.js.Consumer(ctx, stream, name)
	if err != nil {
		return nil, fmt.Errorf("consumer %s of stream %s: %w", name, stream, err)
	}
	return c, nil
}

// message is something to write to a stream.
type message struct {
	subject string
	kind    string
	data    []byte
	count   func(*fsm.Counters)
	// after is the sequence of the last message of the subject that the sender knows of; nil if it does not matter.
	after *uint64
}

// write writes messages to the stream of a home, all at a time, and returns the sequence of
// the last. It returns when they are replicated.
func (h *host) write(home int, messages ...message) (last uint64, err error) {
	bytes := 0
	for _, m := range messages {
		bytes += len(m.data)
	}
	if len(messages) == 0 {
		return 0, nil
	}
	key := messages[0].subject + "/" + h.addr
	h.c.use(h.id, "send/"+key, time.Duration(len(messages))*h.c.cfg.Costs.RPC.Send)
	if err := h.c.network.Send(h.ctx, h.addr, addr(home), key); err != nil {
		return 0, err
	}
	h.c.replicate(home, "write/"+key, len(messages), bytes)
	for _, m := range messages {
		var opts []jetstream.PublishOpt
		if m.after != nil {
			opts = append(opts, jetstream.WithExpectLastSequencePerSubject(*m.after))
		}
		ctx, cancel := context.WithTimeout(h.ctx, apiTimeout)
		ack, err := h.js.Publish(ctx, m.subject, m.data, opts...)
		cancel()
		if err != nil {
			return 0, fmt.Errorf("write to %s: %w", m.subject, err)
		}
		h.c.journal.wrote(m.kind, m.count)
		last = ack.Sequence
	}
	return last, h.c.network.Send(h.ctx, addr(home), h.addr, key)
}

// writeState writes a command to the stream of changes and waits until this server has folded
// it. With after it is written only if that is the subject's last message.
func (h *host) writeState(subject string, cmd fsm.Command, after *uint64) (uint64, error) {
	data, err := cmd.Encode()
	if err != nil {
		return 0, err
	}
	seq, err := h.write(h.c.stateHome(), message{subject: subject, kind: cmd.Type.String(), data: data, after: after})
	if err != nil {
		return 0, err
	}
	_, err = h.await(h.ctx, seq)
	return seq, err
}

// evaluation returns the message that asks for a look at a job in a state that has an index.
func (h *host) evaluation(job *rpc.Job, trigger string, index uint64) (message, error) {
	e := leader.PendingEval(h.newID("eval", job.Namespace, job.ID), trigger, job)
	e.ModifyIndex = index
	data, err := json.Marshal(e)
	if err != nil {
		return message{}, fmt.Errorf("encode an evaluation of job %q: %w", job.ID, err)
	}
	return message{
		subject: evalSubjectOf(job.Namespace, job.ID), kind: fsm.EvalUpdate.String(), data: data,
		count: func(c *fsm.Counters) { c.EvalsCreated++ },
	}, nil
}

// registerJob writes a job, and then an evaluation of it.
func (h *host) registerJob(_ context.Context, job *rpc.Job) (string, error) {
	index, err := h.writeState(jobSubject+token(job.Namespace, job.ID), fsm.JobRegister.With(&fsm.JobRegisterRequest{Job: job, Time: time.Now().UnixNano()}), nil)
	if err != nil {
		return "", err
	}
	m, err := h.evaluation(job, broker.TriggeredByJobRegister, index)
	if err != nil {
		return "", err
	}
	_, err = h.write(h.c.evalHome(), m)
	return "", err
}

// taken charges what it costs to hand a server n messages that a consumer has delivered: the
// consumer's replicas agree on that first.
func (h *host) taken(home int, key string, n int) {
	for range n {
		h.c.journal.wrote(EntryDelivered, nil)
	}
	h.c.replicate(home, "deliver/"+key, n, 0)
	_ = h.c.network.Send(h.ctx, addr(home), h.addr, "deliver/"+key) // an error means that the server stops
	h.c.use(h.id, "serve/"+key, h.c.cfg.Costs.RPC.Serve)
}

// ack acknowledges a message, which writes these entries, and returns when they are replicated.
func (h *host) ack(home int, m jetstream.Msg, key string, entries ...string) error {
	h.c.use(h.id, "ack/"+key, h.c.cfg.Costs.RPC.Send)
	if err := h.c.network.Send(h.ctx, h.addr, addr(home), "ack/"+key); err != nil {
		return err
	}
	h.c.replicate(home, "ack/"+key, len(entries), 0)
	for _, kind := range entries {
		h.c.journal.wrote(kind, nil)
	}
	ctx, cancel := context.WithTimeout(h.ctx, apiTimeout)
	defer cancel()
	if err := m.DoubleAck(ctx); err != nil {
		return fmt.Errorf("acknowledge %s: %w", m.Subject(), err)
	}
	return h.c.network.Send(h.ctx, addr(home), h.addr, "ack/"+key)
}

// newID returns a UUID that depends on what it is for and on the instant.
func (h *host) newID(parts ...string) string {
	now := uint64(time.Now().UnixNano())
	return uuid.Format(simnet.HashStrings(h.seed^now, parts...), simnet.HashStrings(^h.seed^now, parts...))
}

// turn returns a delay that differs for each server and each of its parts. It keeps them from doing at one instant
// what they all begin with.
func (h *host) turn(part int) time.Duration {
	return time.Duration(h.id*64+part+1) * time.Microsecond
}

func sequence(m jetstream.Msg) uint64 {
	about, err := m.Metadata()
	if err != nil {
		panic(fmt.Sprintf("streams: a message of %s without a sequence: %v", m.Subject(), err))
	}
	return about.Sequence.Stream
}

func keyOf(m jetstream.Msg) string { return m.Subject() + strconv.FormatUint(sequence(m), 10) }
