package cluster

import (
	"sync"

	"github.com/hashicorp/raft"
)

// logStore is Raft's in-memory log, which also remembers the type of every entry ever
// stored: snapshots compact the log, but the count of entries by type must be exact.
type logStore struct {
	*raft.InmemStore

	mu    sync.Mutex
	types []messageType // by index; overwritten when a new leader overwrites the entry
}

func newLogStore() *logStore { return &logStore{InmemStore: raft.NewInmemStore()} }

func (s *logStore) StoreLog(l *raft.Log) error { return s.StoreLogs([]*raft.Log{l}) }

func (s *logStore) StoreLogs(logs []*raft.Log) error {
	s.mu.Lock()
	for _, l := range logs {
		for uint64(len(s.types)) <= l.Index {
			s.types = append(s.types, 0)
		}
		s.types[l.Index] = typeOf(l)
	}
	s.mu.Unlock()
	return s.InmemStore.StoreLogs(logs)
}

// entriesBetween counts the entries with after < index ≤ upTo by the name of their type.
func (s *logStore) entriesBetween(after, upTo uint64) map[string]uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := map[string]uint64{}
	for i := after + 1; i <= upTo && i < uint64(len(s.types)); i++ {
		counts[s.types[i].String()]++
	}
	return counts
}
