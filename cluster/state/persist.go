package state

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"io"
	"iter"
	"reflect"

	"github.com/hashicorp/go-msgpack/v2/codec"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
)

// persistVersion is raised when the layout of a persisted snapshot changes.
const persistVersion = 5

// persistHeader opens a persisted snapshot. So many rows of each table follow, the tables
// in the order of Persist and the rows in that of their IDs.
type persistHeader struct {
	Version                             int
	Counts                              *counts
	Nodes, Jobs, Evals, Allocs, Summary int
	Deployments, PastDeployments        int
}

func msgpackHandle() *codec.MsgpackHandle {
	h := &codec.MsgpackHandle{}
	h.StructToArray = true
	h.Canonical = true // writes maps in the order of their keys: equal states give equal bytes
	return h
}

func (s *Snapshot) persistHeader() persistHeader {
	return persistHeader{
		Version: persistVersion, Counts: &s.counts,
		Nodes: s.NodeCount(), Jobs: s.counts.Jobs, Evals: s.counts.Evals,
		Allocs:      s.counts.AllocsLive + s.counts.AllocsTerminal,
		Summary:     s.summaries.len(),
		Deployments: s.deployments.len(), PastDeployments: s.pastDeployments.len(),
	}
}

// Rows returns how many rows Persist writes.
func (s *Snapshot) Rows() int {
	h := s.persistHeader()
	return h.Nodes + 2*h.Jobs + h.Evals + h.Allocs + h.Summary + h.Deployments + h.PastDeployments
}

// Persist writes the snapshot to w, for Restore to read.
func (s *Snapshot) Persist(w io.Writer) error {
	buf := bufio.NewWriterSize(w, 1<<16)
	enc := codec.NewEncoder(buf, msgpackHandle())
	if err := enc.Encode(s.persistHeader()); err != nil {
		return fmt.Errorf("persist state at index %d: %w", s.Index(), err)
	}
	err := firstError(
		persistRows(enc, s.nodeRows()),
		persistRows(enc, s.Jobs()),
		persistRows(enc, definitions(s.Jobs())),
		persistRows(enc, s.Evals()),
		persistRows(enc, s.Allocs()),
		persistRows(enc, s.summaries.all()),
		persistRows(enc, s.Deployments()),
		persistRows(enc, s.PastDeployments()),
		buf.Flush,
	)
	if err != nil {
		return fmt.Errorf("persist state at index %d: %w", s.Index(), err)
	}
	return nil
}

// Fingerprint returns a hash, in hexadecimal, of all fields of all nodes, jobs, evaluations,
// allocations and deployments. Two servers that applied the same entries have the same
// one. It leaves out the counts and the latest index, which follow from rows and log.
func (s *Snapshot) Fingerprint() string {
	h := sha256.New()
	enc := codec.NewEncoder(h, msgpackHandle())
	err := firstError(
		persistRows(enc, s.Nodes()),
		persistRows(enc, s.Jobs()),
		persistRows(enc, s.Evals()),
		persistRows(enc, s.Allocs()),
		persistRows(enc, s.Deployments()),
		persistRows(enc, s.PastDeployments()),
	)
	if err != nil {
		panic(fmt.Sprintf("state: a row cannot be encoded: %v", err)) // plain structs into a hash: cannot fail
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// Image returns a hash, in hexadecimal, of all that Persist writes: also of what Fingerprint leaves
// out, such as counts, summaries of jobs, events of nodes and the configuration of schedulers.
func (s *Snapshot) Image() string {
	h := sha256.New()
	if err := s.Persist(h); err != nil {
		panic(fmt.Sprintf("state: %v", err)) // as in Fingerprint
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// Persisted returns the types of all that Persist writes.
func Persisted() []reflect.Type {
	return []reflect.Type{
		reflect.TypeFor[persistHeader](), reflect.TypeFor[nodeRow](), reflect.TypeFor[rpc.Job](), reflect.TypeFor[definition](),
		reflect.TypeFor[broker.Evaluation](), reflect.TypeFor[rpc.Allocation](), reflect.TypeFor[jobSummary](), reflect.TypeFor[rpc.Deployment](),
	}
}

func firstError(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func persistRows[T any](enc *codec.Encoder, rows iter.Seq[T]) func() error {
	return func() error {
		for row := range rows {
			if err := enc.Encode(row); err != nil {
				return err
			}
		}
		return nil
	}
}

// definition is what of a job is no part of its row.
type definition struct {
	Text       []byte
	SubmitTime int64
}

func definitions(jobs iter.Seq[*rpc.Job]) iter.Seq[definition] {
	return func(yield func(definition) bool) {
		for j := range jobs {
			if !yield(definition{j.Definition, j.SubmitTime}) {
				return
			}
		}
	}
}

// Restore replaces the whole state by what Persist wrote, and wakes every watcher. After an
// error, which says what could not be read, the store is as it was.
func (s *Store) Restore(r io.Reader) error {
	in := newInterner()
	next, err := readSnapshot(r, in)
	if err != nil {
		return err
	}
	s.strings = in
	s.mu.Lock()
	before := s.current.Swap(next)
	if next.Index() < before.Index() {
		s.setBack++
	}
	s.mu.Unlock()
	s.replaced(before, next)
	return nil
}

// readSnapshot returns the state that Persist wrote.
func readSnapshot(r io.Reader, in *interner) (*Snapshot, error) {
	dec := codec.NewDecoder(bufio.NewReaderSize(r, 1<<16), msgpackHandle())
	var header persistHeader
	if err := dec.Decode(&header); err != nil {
		return nil, fmt.Errorf("restore state: read header: %w", err)
	}
	if header.Version != persistVersion || header.Counts == nil {
		return nil, fmt.Errorf("restore state: layout version %d, this build reads version %d", header.Version, persistVersion)
	}
	s := emptySnapshot()
	s.counts = *header.Counts
	if err := s.tables.restore(dec, &header, in); err != nil {
		return nil, fmt.Errorf("restore state at index %d: %w", s.Index(), err)
	}
	return s, nil
}

// restore reads the rows, and rebuilds what follows from them: the per-node rows, the jobs
// by type, and the logs of changes.
func (t *tables) restore(dec *codec.Decoder, h *persistHeader, in *interner) error {
	tx := new(owner)
	var nodes []*rpc.Node
	var jobs []*rpc.Job // whose definitions are to come
	var ended []*broker.Evaluation
	perJob := map[broker.JobID][]*rpc.Allocation{}
	on := func(nodeID string) *NodeAllocs {
		row := t.nodeAllocs.get(nodeID)
		if row == nil {
			row = &NodeAllocs{NodeID: nodeID}
			t.nodeAllocs.put(tx, nodeID, row)
		}
		return row
	}
	err := firstError(
		restoreRows(dec, "nodes", h.Nodes, func(n *nodeRow) {
			in.node(n.Node)
			on(n.Node.ID)
			nodes = append(nodes, n.Node)
			t.nodes.put(tx, n.Node.ID, n)
		}),
		restoreRows(dec, "jobs", h.Jobs, func(j *rpc.Job) {
			in.job(j)
			t.putJob(tx, nil, j)
			jobs = append(jobs, j)
		}),
		restoreRows(dec, "definitions", h.Jobs, func(d *definition) {
			jobs[0].Definition, jobs[0].SubmitTime, jobs = d.Text, d.SubmitTime, jobs[1:]
		}),
		restoreRows(dec, "evals", h.Evals, func(e *broker.Evaluation) {
			in.eval(nil, e)
			t.evals.put(tx, e.ID, e)
			if e.Terminal() {
				ended = append(ended, e)
			}
		}),
		restoreRows(dec, "allocs", h.Allocs, func(a *rpc.Allocation) {
			in.alloc(nil, a)
			row := on(a.NodeID)
			row.replace(nil, a)
			row.Index = max(row.Index, a.ModifyIndex)
			perJob[jobOf(a)] = append(perJob[jobOf(a)], a)
			t.allocs.put(tx, a.ID, a)
		}),
		restoreRows(dec, "summaries", h.Summary, func(s *jobSummary) {
			s.log = restoredLog(perJob[s.Job], func(a *rpc.Allocation) uint64 { return a.ModifyIndex })
			if s.log.last != nil {
				s.placed = s.log.last.index
			}
			t.summaries.put(tx, s.Job, s)
		}),
		restoreRows(dec, "deployments", h.Deployments, func(d *rpc.Deployment) {
			t.deployments.put(tx, broker.JobID{Namespace: d.Namespace, ID: d.JobID}, d)
		}),
		restoreRows(dec, "past deployments", h.PastDeployments, func(d *rpc.Deployment) { t.pastDeployments.put(tx, d.ID, d) }),
	)
	t.nodeLog = restoredLog(nodes, func(n *rpc.Node) uint64 { return n.ModifyIndex })
	t.endLog = restoredLog(ended, func(e *broker.Evaluation) uint64 { return e.ModifyIndex })
	return err
}

func restoreRows[T any](dec *codec.Decoder, table string, n int, keep func(*T)) func() error {
	return func() error {
		for i := range n {
			row := new(T)
			if err := dec.Decode(row); err != nil {
				return fmt.Errorf("row %d of %d of table %s: %w", i+1, n, table, err)
			}
			keep(row)
		}
		return nil
	}
}
