package record

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/scenarios/language"
)

// seen is a cluster as it was, and what happened in it since.
type seen struct {
	servers, schedulers int
	nodes               map[string]*node // by ID
	jobs                map[jobKey]*job
	changes             []change // of nodes, in order
	lasted              time.Duration
	omitted             map[string]int // what has no place in a scenario, and how often it was there
}

func newSeen() *seen {
	return &seen{nodes: map[string]*node{}, jobs: map[jobKey]*job{}, omitted: map[string]int{}}
}

func (s *seen) omit(what string) { s.omitted[what]++ }

// node is a client.
type node struct {
	kind    kind
	up      bool // as last seen
	began   bool // up at the beginning
	changed bool
}

// wasUp reports whether the node has been up: others are no part of the scenario.
func (n *node) wasUp() bool { return n.began || n.changed }

// up counts the nodes that have been up.
func (s *seen) up() int {
	n := 0
	for _, node := range s.nodes {
		if node.wasUp() {
			n++
		}
	}
	return n
}

// kind is what the nodes of a group have in common.
type kind struct {
	Datacenter, Class, OS string
	Resources             rpc.Resources
}

// change is a node that goes up or down.
type change struct {
	at   time.Duration
	node string
	up   bool
}

type jobKey struct{ namespace, id string }

// job is a job and its versions.
type job struct {
	first, last *rpc.Job
	late        bool   // registered after the beginning
	index       uint64 // at which it was last changed
	changes     []jobChange
}

// jobChange is a new version of a job, or its end.
type jobChange struct {
	at    time.Duration
	to    *rpc.Job // nil = stopped
	from  *rpc.Job
	purge bool
}

// sawNode takes note of how a node is.
func (s *seen) sawNode(id string, k kind, status string, at time.Duration) {
	up, known := status == "ready", s.nodes[id]
	switch {
	case known == nil:
		s.nodes[id] = &node{kind: k, up: up, began: up && at == 0}
		if up && at > 0 {
			s.nodes[id].changed = true
			s.changes = append(s.changes, change{at, id, true})
		}
	case known.up == up, status == "initializing": // on its way back
	default:
		known.up, known.changed = up, true
		s.changes = append(s.changes, change{at, id, up})
	}
}

// sawJob takes note of a version of a job.
func (s *seen) sawJob(k jobKey, j *rpc.Job, index uint64, at time.Duration) {
	known := s.jobs[k]
	switch {
	case known == nil:
		s.jobs[k] = &job{first: j, last: j, late: at > 0, index: index}
		if at > 0 {
			s.jobs[k].changes = []jobChange{{at: at, to: j}}
		}
	case index > known.index:
		known.index = index
		known.changes = append(known.changes, jobChange{at: at, to: j, from: known.last})
		known.last = j
	}
}

// sawEnd takes note of a job that is no more.
func (s *seen) sawEnd(k jobKey, purge bool, at time.Duration) {
	if known := s.jobs[k]; known != nil && !known.stopped() {
		known.changes = append(known.changes, jobChange{at: at, purge: purge})
	}
}

// stopped reports whether the job has ended.
func (j *job) stopped() bool { return len(j.changes) > 0 && j.changes[len(j.changes)-1].to == nil }

// alike reports whether a scenario can have two jobs as copies of one.
func alike(a, b *rpc.Job) bool { return reflect.DeepEqual(bare(a), bare(b)) }

func bare(j *rpc.Job) rpc.Job {
	j = j.Copy()
	j.ID, j.Namespace, j.Definition, j.SubmitTime, j.Version = "", "", nil, 0, 0
	j.CreateIndex, j.ModifyIndex, j.JobModifyIndex = 0, 0, 0
	return *j
}

// namer gives things of the cluster their names in the scenario.
type namer struct {
	salt []byte // nil = the names are kept
	used map[string]bool
}

func newNamer(hash bool) *namer {
	n := &namer{used: map[string]bool{}}
	if hash {
		// Without it, whoever guesses a name could check the guess.
		n.salt = []byte(rand.Text())
	}
	return n
}

// shown returns the name of a thing, which has a prefix if it is hashed. No scenario file has control characters.
func (n *namer) shown(prefix, name string) string {
	if n.salt == nil || name == "" {
		return language.Printable(name)
	}
	sum := sha256.Sum256(slices.Concat(n.salt, []byte(prefix+name)))
	return prefix + "-" + hex.EncodeToString(sum[:4])
}

// block returns a name for a block that no other block has.
func (n *namer) block(prefix, name string) string {
	name = strings.Map(func(r rune) rune {
		if r < ' ' || strings.ContainsRune(". /\\\"", r) {
			return '-'
		}
		return r
	}, n.shown(prefix, name))
	for n.used[name] {
		name += "-"
	}
	n.used[name] = true
	return name
}

// sortedJobs returns the jobs in the order of their names.
func (s *seen) sortedJobs() []jobKey {
	return slices.SortedFunc(maps.Keys(s.jobs), func(a, b jobKey) int {
		if a.id != b.id {
			return strings.Compare(a.id, b.id)
		}
		return strings.Compare(a.namespace, b.namespace)
	})
}
