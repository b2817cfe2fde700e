package leader

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/cluster/state"
)

// soleLog is the log of a cluster of one server without Raft: what is written is applied.
type soleLog struct {
	*testing.T
	store *state.Store

	mu     sync.Mutex
	refuse error // what Write returns instead of writing
	causes []fsm.Cause

	follows bool          // and does not lead
	takes   time.Duration // to write an entry

	computed time.Duration
}

// refusing makes Write return an error instead of writing; nil: write again.
func (l *soleLog) refusing(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refuse = err
}

var _ Log = (*soleLog)(nil)

func newSoleLog(t *testing.T) *soleLog { return &soleLog{T: t, store: state.New()} }

func (l *soleLog) Because(causes ...fsm.Cause) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.causes = append(l.causes, causes...)
}

func (l *soleLog) Compute(key string, d time.Duration) {
	l.mu.Lock()
	l.computed += d
	l.mu.Unlock()
	time.Sleep(d)
}

func (l *soleLog) Wall() time.Time              { return time.Now() }
func (l *soleLog) Leads() bool                  { return !l.follows }
func (l *soleLog) Snapshot() *state.Snapshot    { return l.store.Snapshot() }
func (l *soleLog) NewID(parts ...string) string { return strings.Join(parts, "/") }
func (l *soleLog) status(id string) (status string) {
	for e := range l.Snapshot().Evals() {
		if e.ID == id {
			status = e.Status
		}
	}
	return status
}

func (l *soleLog) Write(c fsm.Command) (uint64, error) {
	l.mu.Lock()
	refuse := l.refuse
	l.mu.Unlock()
	if refuse != nil {
		return 0, refuse
	}
	if l.takes > 0 {
		time.Sleep(l.takes)
	}
	index := l.store.Index() + 1
	_, err := c.Apply(l.store, index)
	return index, err
}

// update writes to the state what no entry stands for.
func (l *soleLog) update(write func(*state.Tx) error) {
	l.Helper()
	if err := l.store.Update(l.store.Index()+1, write); err != nil {
		l.Fatal(err)
	}
}

// evaluation returns one of a job of its own.
func evaluation(id string, change ...func(*broker.Evaluation)) *broker.Evaluation {
	e := &broker.Evaluation{ID: id, Namespace: "default", JobID: "job of " + id, Type: "service", Priority: 50, Status: broker.StatusPending}
	for _, f := range change {
		f(e)
	}
	return e
}
