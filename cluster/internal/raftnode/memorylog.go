package raftnode

import (
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// memoryLog is a Raft log in memory. Raft's own InmemStore is a map of pointers, and what it
// points to on a leader is part of the future that the writer of an entry waited for: a
// million entries of three servers take 650 MB there besides their data, and 120 MB here.
//
// Entries have no extensions: nothing between Raft and its log adds any.
type memoryLog struct {
	mu      sync.Mutex
	first   uint64        // index of entries[0], if there is one
	entries []memoryEntry // those of term zero are gaps, as a snapshot leaves them
}

type memoryEntry struct {
	data       []byte
	appendedAt int64 // in nanoseconds since 1970
	term       uint32
	kind       raft.LogType
}

func (m *memoryLog) FirstIndex() (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.entries) == 0 {
		return 0, nil
	}
	return m.first, nil
}

func (m *memoryLog) LastIndex() (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.entries) == 0 {
		return 0, nil
	}
	return m.first + uint64(len(m.entries)) - 1, nil
}

func (m *memoryLog) GetLog(index uint64, log *raft.Log) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if index < m.first || index-m.first >= uint64(len(m.entries)) || m.entries[index-m.first].term == 0 {
		return raft.ErrLogNotFound
	}
	e := m.entries[index-m.first]
	*log = raft.Log{Index: index, Term: uint64(e.term), Type: e.kind, Data: e.data, AppendedAt: time.Unix(0, e.appendedAt)}
	return nil
}

func (m *memoryLog) StoreLog(log *raft.Log) error { return m.StoreLogs([]*raft.Log{log}) }

// StoreLogs stores entries at any index that is not below the first one.
func (m *memoryLog) StoreLogs(logs []*raft.Log) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range logs {
		if len(m.entries) == 0 {
			m.first = l.Index
		}
		for uint64(len(m.entries)) <= l.Index-m.first {
			m.entries = append(m.entries, memoryEntry{})
		}
		m.entries[l.Index-m.first] = memoryEntry{l.Data, l.AppendedAt.UnixNano(), uint32(l.Term), l.Type}
	}
	return nil
}

// DeleteRange deletes the entries from lowest to highest, at the beginning or at the end of
// the log.
func (m *memoryLog) DeleteRange(lowest, highest uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := m.first + uint64(len(m.entries)) - 1
	switch {
	case len(m.entries) == 0 || highest < m.first || lowest > last:
	case lowest <= m.first && highest >= last:
		m.entries = nil
	case lowest <= m.first:
		m.entries = append([]memoryEntry(nil), m.entries[highest+1-m.first:]...)
		m.first = highest + 1
	default:
		clear(m.entries[lowest-m.first:])
		m.entries = m.entries[:lowest-m.first]
	}
	return nil
}
