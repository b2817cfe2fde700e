package streams

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats-server/v2/server/ats"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/cluster/simnet"
)

// Prepare must be called before each bubble that a Cluster lives in. A goroutine of the NATS
// server's, which the first store starts, waits on a channel that was made with the program. And
// the client keeps timers for reuse, which belong to the bubble that made them: two collections
// empty its pool.
func Prepare() {
	registered()
	runtime.GC()
	runtime.GC()
}

var registered = sync.OnceFunc(ats.Register)

// The streams, and the first token of their subjects.
const (
	stateStream = "STATE"
	evalStream  = "EVALS"

	nodeSubject  = "state.node."
	jobSubject   = "state.job."
	planSubject  = "state.plan."
	allocSubject = "state.alloc."
	evalSubject  = "evals."
	beatSubject  = "beat."
)

// The consumers that servers share.
const (
	changeConsumer = "changes"
	workConsumer   = "workers"
)

// Types of entries that three replicas would write beside the messages. A consumer's own Raft group writes an entry for
// each delivery and each acknowledgement (nats-server, server/consumer.go, updateDelivered and updateAcks). A stream's
// group writes one for each message that a work queue removes (server/stream.go, ackMsg). A message is an entry, too: its
// type is Nomad's name of what it carries.
const (
	EntryDelivered = "jetstream:Delivered"
	EntryAcked     = "jetstream:Acked"
	EntryRemoved   = "jetstream:Removed"
)

// maxPayload is as much as a plan for every node of a large fleet needs.
const maxPayload = 64 << 20

// startServer starts a NATS server that listens nowhere and keeps everything in memory.
func startServer() (*server.Server, error) {
	s, err := server.NewServer(&server.Options{
		DontListen: true, JetStream: true, NoSigs: true, NoLog: true, MaxPayload: maxPayload,
		MaxPending: 4 * maxPayload, JetStreamMaxMemory: 1 << 40, JetStreamMaxStore: 0, StoreDir: "/nonexistent",
		NoSystemAccount: true,
	})
	if err != nil {
		return nil, fmt.Errorf("make a NATS server: %w", err)
	}
	s.Start()
	if !s.ReadyForConnections(time.Minute) {
		s.Shutdown()
		return nil, errors.New("the NATS server is not ready after a minute")
	}
	return s, nil
}

// connect returns a connection to the server through a pipe.
func connect(s *server.Server, name string) (*nats.Conn, jetstream.JetStream, error) {
	nc, err := nats.Connect("", nats.InProcessServer(s), nats.Name(name), nats.NoReconnect())
	if err != nil {
		return nil, nil, fmt.Errorf("connect to the NATS server: %w", err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		nc.Close()
		return nil, nil, fmt.Errorf("connect to JetStream: %w", err)
	}
	return nc, js, nil
}

// makeStreams makes the streams and the consumers that servers share.
func (c *Cluster) makeStreams(ctx context.Context, js jetstream.JetStream) error {
	perSubject := int64(-1)
	if c.opts.LastOnly {
		perSubject = 1
	}
	var err error
	if c.state, err = js.CreateStream(ctx, jetstream.StreamConfig{
		Name: stateStream, Subjects: []string{"state.>"}, Storage: jetstream.MemoryStorage,
	}); err != nil {
		return fmt.Errorf("make stream %s: %w", stateStream, err)
	}
	if c.evals, err = js.CreateStream(ctx, jetstream.StreamConfig{
		Name: evalStream, Subjects: []string{evalSubject + ">"}, Storage: jetstream.MemoryStorage,
		Retention: jetstream.WorkQueuePolicy, MaxMsgsPerSubject: perSubject, Discard: jetstream.DiscardOld,
	}); err != nil {
		return fmt.Errorf("make stream %s: %w", evalStream, err)
	}
	if c.changed, err = c.state.CreateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: changeConsumer, FilterSubject: nodeSubject + ">", AckPolicy: jetstream.AckExplicitPolicy,
		AckWait: c.cfg.Eval.NackTimeout, MaxAckPending: -1,
	}); err != nil {
		return fmt.Errorf("make consumer %s: %w", changeConsumer, err)
	}
	return nil
}

// partitions is how many parts the jobs are divided into, more than there are workers.
const partitions = 64

// evalSubjectOf is where evaluations of a job go.
func evalSubjectOf(namespace, id string) string {
	return partition(int(simnet.HashStrings(0, namespace, id)%partitions)) + token(namespace, id)
}

func partition(i int) string { return evalSubject + strconv.Itoa(i) + "." }

// makeWork makes the consumers of so many workers, in place of those before: one that they share or, with Options.Partition,
// one for each of them, which delivers a message once the one before is acknowledged.
func (c *Cluster) makeWork(workers int) error {
	ctx, cancel := context.WithTimeout(context.Background(), apiTimeout)
	defer cancel()
	c.workMu.Lock()
	defer c.workMu.Unlock()
	for _, consumer := range c.work {
		if err := c.evals.DeleteConsumer(ctx, consumer.CachedInfo().Name); err != nil {
			return fmt.Errorf("delete consumer: %w", err)
		}
	}
	c.work = nil
	if workers == 0 {
		return nil
	}
	shared := jetstream.ConsumerConfig{AckPolicy: jetstream.AckExplicitPolicy, AckWait: c.cfg.Eval.NackTimeout, MaxAckPending: -1}
	configs := []jetstream.ConsumerConfig{shared}
	if c.opts.Partition {
		configs = make([]jetstream.ConsumerConfig, min(workers, partitions))
		for i := range configs {
			configs[i] = shared
			configs[i].MaxAckPending = 1
			for p := i; p < partitions; p += len(configs) {
				configs[i].FilterSubjects = append(configs[i].FilterSubjects, partition(p)+">")
			}
		}
	}
	for i, config := range configs {
		config.Durable = fmt.Sprintf("%s-%d", workConsumer, i)
		consumer, err := c.evals.CreateConsumer(ctx, config)
		if err != nil {
			return fmt.Errorf("make consumer %s: %w", config.Durable, err)
		}
		c.work = append(c.work, consumer)
	}
	return nil
}

// token makes any text a token of a subject.
func token(parts ...string) string {
	text := ""
	for i, p := range parts {
		if i > 0 {
			text += "."
		}
		text += base64.RawURLEncoding.EncodeToString([]byte(p))
	}
	return text
}

// conflicts reports whether a message was refused because another of its subject came first.
func conflicts(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence
}

// journal counts what was written, in order. It is safe for concurrent use.
type journal struct {
	mu       sync.Mutex
	kinds    []string
	counters fsm.Counters
	inHand   int // evaluations that workers have
	// conflicts counts plans that were refused because another of the job came first.
	conflicts uint64
}

func (j *journal) wrote(kind string, count func(*fsm.Counters)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.kinds = append(j.kinds, kind)
	if count != nil {
		count(&j.counters)
	}
}

func (j *journal) count(f func(*journal)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	f(j)
}

// between counts the entries with after < index ≤ upTo by kind.
func (j *journal) between(after, upTo uint64) map[string]uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	counts := map[string]uint64{}
	for _, k := range j.kinds[after:max(after, upTo)] {
		counts[k]++
	}
	return counts
}
