package raftnode

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// memoryLog is a Raft log in memory. Raft's own InmemStore is a map of pointers, and what it
// points to on a leader is part of the future that the writer of an entry waited for: a
// million entries of three servers take 650 MB there besides their data. Here, all but the
// newest are in compressed blocks that the servers share.
//
// Entries have no extensions: nothing between Raft and its log adds any.
type memoryLog struct {
	archive *archive

	mu      sync.Mutex
	first   uint64        // index of the first entry, if there is one; it may be inside the first block
	blocks  []*block      // without gaps between them
	start   uint64        // index of entries[0], the end of the last block
	entries []memoryEntry // those of term zero are gaps, as a snapshot leaves them
	bytes   int           // of the data of entries

	unpacked        *block // what was read last of blocks, and its entries
	unpackedEntries []memoryEntry
}

type memoryEntry struct {
	data       []byte
	appendedAt int64 // in nanoseconds since 1970
	term       uint32
	kind       raft.LogType
}

func newMemoryLog(a *archive) *memoryLog { return &memoryLog{archive: a} }

// end returns the index after the last entry; first when there is none.
func (m *memoryLog) end() uint64 { return m.start + uint64(len(m.entries)) }

func (m *memoryLog) FirstIndex() (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.first == m.end() {
		return 0, nil
	}
	return m.first, nil
}

func (m *memoryLog) LastIndex() (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.first == m.end() {
		return 0, nil
	}
	return m.end() - 1, nil
}

func (m *memoryLog) GetLog(index uint64, log *raft.Log) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if index < m.first || index >= m.end() {
		return raft.ErrLogNotFound
	}
	e := m.entry(index)
	if e.term == 0 {
		return raft.ErrLogNotFound
	}
	*log = raft.Log{Index: index, Term: uint64(e.term), Type: e.kind, Data: e.data, AppendedAt: time.Unix(0, e.appendedAt)}
	return nil
}

func (m *memoryLog) entry(index uint64) memoryEntry {
	if index >= m.start {
		return m.entries[index-m.start]
	}
	b := m.blocks[m.blockOf(index)]
	if m.unpacked != b {
		m.unpacked, m.unpackedEntries = b, m.archive.unpack(b)
	}
	return m.unpackedEntries[index-b.first]
}

// packedAt returns the block that holds an index; nil if it is not in one.
func (m *memoryLog) packedAt(index uint64) *block {
	m.mu.Lock()
	defer m.mu.Unlock()
	if index < m.first || index >= m.start {
		return nil
	}
	return m.blocks[m.blockOf(index)]
}

// sharedUntil returns the index after those from index on that two logs have in one block:
// index itself if they have none there.
func sharedUntil(a, b raft.LogStore, index uint64) uint64 {
	x, xInMemory := a.(*memoryLog)
	y, yInMemory := b.(*memoryLog)
	if xInMemory && yInMemory {
		if shared := x.packedAt(index); shared != nil && shared == y.packedAt(index) {
			return shared.end()
		}
	}
	return index
}

// blockOf returns the place of the block that holds an index; len(m.blocks) when it is none.
func (m *memoryLog) blockOf(index uint64) int {
	i, _ := slices.BinarySearchFunc(m.blocks, index+1, func(b *block, end uint64) int { return cmp.Compare(b.end(), end) })
	return i
}

func (m *memoryLog) StoreLog(log *raft.Log) error { return m.StoreLogs([]*raft.Log{log}) }

// StoreLogs stores entries at any index that is not below the first one.
func (m *memoryLog) StoreLogs(logs []*raft.Log) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range logs {
		if m.first == m.end() {
			m.first, m.start = l.Index, l.Index
		}
		m.unpackFrom(l.Index)
		for m.end() <= l.Index {
			m.entries = append(m.entries, memoryEntry{})
		}
		e := &m.entries[l.Index-m.start]
		m.bytes += len(l.Data) - len(e.data)
		*e = memoryEntry{l.Data, l.AppendedAt.UnixNano(), uint32(l.Term), l.Type}
	}
	m.pack()
	return nil
}

// pack moves all but the newest entries to blocks.
func (m *memoryLog) pack() {
	block, recent := m.archive.ofBlock, m.archive.recent
	for {
		most := block.entries - int(m.start%uint64(block.entries))
		if len(m.entries) < most+recent.entries && m.bytes < block.bytes+recent.bytes {
			return
		}
		n, bytes := 0, 0
		for n < most && bytes < block.bytes {
			bytes += len(m.entries[n].data)
			n++
		}
		m.blocks = append(m.blocks, m.archive.pack(m.start, m.entries[:n]))
		m.entries = slices.Delete(m.entries, 0, n)
		m.start += uint64(n)
		m.bytes -= bytes
	}
}

// bytesOf returns how many bytes of data entries have.
func bytesOf(entries []memoryEntry) (n int) {
	for _, e := range entries {
		n += len(e.data)
	}
	return n
}

// unpackFrom makes the entries from an index on writable.
func (m *memoryLog) unpackFrom(index uint64) {
	for i := len(m.blocks) - 1; i >= m.blockOf(index); i-- {
		b := m.blocks[i]
		m.entries, m.start = append(m.archive.unpack(b), m.entries...), b.first
		m.blocks = m.blocks[:i]
		m.bytes = bytesOf(m.entries)
	}
}

// DeleteRange deletes the entries from lowest to highest, at the beginning or at the end of
// the log.
func (m *memoryLog) DeleteRange(lowest, highest uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.first == m.end() || highest < m.first || lowest >= m.end():
	case lowest <= m.first && highest >= m.end()-1:
		m.blocks, m.entries, m.unpacked, m.unpackedEntries = nil, nil, nil, nil
		m.first = m.start
	case lowest <= m.first:
		m.first = highest + 1
		m.blocks = slices.Clone(m.blocks[m.blockOf(m.first):])
		if m.first > m.start {
			m.entries = slices.Clone(m.entries[m.first-m.start:])
			m.start = m.first
		}
	default:
		m.unpackFrom(lowest)
		m.entries = slices.Delete(m.entries, int(lowest-m.start), len(m.entries))
	}
	m.bytes = bytesOf(m.entries)
	return nil
}
