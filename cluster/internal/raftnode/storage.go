package raftnode

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
)

const (
	// logCacheSize is how many entries stay in memory in front of a log on disk, and
	// snapshotsRetained how many snapshots are kept there (nomad/server.go).
	logCacheSize      = 512
	snapshotsRetained = 2
)

// recent is what a log in memory keeps as it is, and ofBlock how much of what is older it compresses
// together. Entries of a hundred thousand allocations have megabytes.
var (
	recent  = extent{entries: 4096, bytes: 128 << 20}
	ofBlock = extent{entries: 1024, bytes: 4 << 20}
)

// Storage is what of a server outlives its process: its Raft log, its votes and its
// snapshots, in memory or, as Nomad's setupRaft has them, on disk.
type Storage struct {
	// Logs is Raft's log.
	Logs   *LogStore
	stable raft.StableStore
	snaps  raft.SnapshotStore

	// Life counts the processes that had the storage before this one.
	Life int

	dir string                // of this server alone; empty: in memory
	db  *raftboltdb.BoltStore // under logs and stable; nil: in memory
}

// Storages makes the storage of each server of one cluster.
type Storages struct {
	dataDir string // empty: in memory
	resume  bool
	archive *archive
}

// NewStorages returns the storages of a cluster below dataDir or, if that is empty, in memory.
// If resume is set, what an earlier process left below dataDir is theirs.
func NewStorages(dataDir string, resume bool) *Storages {
	return &Storages{dataDir, resume, newArchive(ofBlock, recent)}
}

// New makes the storage of a server, or opens that of an earlier process.
func (s *Storages) New(name string) (*Storage, error) {
	if s.dataDir == "" {
		logs := newLogStore(newMemoryLog(s.archive))
		return &Storage{Logs: logs, stable: raft.NewInmemStore(), snaps: snapshots{raft.NewInmemSnapshotStore(), logs}}, nil
	}
	dir := filepath.Join(s.dataDir, name)
	err := os.MkdirAll(s.dataDir, 0o755)
	if err == nil {
		err = os.Mkdir(dir, 0o755)
	}
	if s.resume && errors.Is(err, os.ErrExist) {
		err = nil
	}
	if errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("%w: a cluster needs a data directory without servers", err)
	}
	if err != nil {
		return nil, fmt.Errorf("make the data directory of %s: %w", name, err)
	}
	kept, err := openStorage(dir)
	if err != nil {
		return nil, err
	}
	if err := kept.Logs.review(); err != nil {
		return nil, errors.Join(fmt.Errorf("read the Raft log in %s: %w", dir, err), kept.Close())
	}
	return kept, nil
}

// openStorage opens what is in a server's directory, or an empty storage.
func openStorage(dir string) (*Storage, error) {
	path := filepath.Join(dir, "raft.db")
	db, err := raftboltdb.NewBoltStore(path)
	if err != nil {
		return nil, fmt.Errorf("open the Raft log %s: %w", path, err)
	}
	cache, err := raft.NewLogCache(logCacheSize, db)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cache the Raft log %s: %w", path, err), db.Close())
	}
	snaps, err := raft.NewFileSnapshotStore(dir, snapshotsRetained, io.Discard)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the snapshots in %s: %w", dir, err), db.Close())
	}
	life, err := countLife(db)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("count the processes of %s: %w", dir, err), db.Close())
	}
	logs := newLogStore(cache)
	return &Storage{Logs: logs, stable: db, snaps: snapshots{snaps, logs}, Life: life, dir: dir, db: db}, nil
}

// lives is the key of the number of processes that have opened a storage on disk.
var lives = []byte("simctl/lives")

// countLife returns how many processes have opened a storage before, and counts this one.
func countLife(stable raft.StableStore) (before int, err error) {
	n, err := stable.GetUint64(lives)
	if err != nil && !errors.Is(err, raftboltdb.ErrKeyNotFound) {
		return 0, err
	}
	return int(n), stable.SetUint64(lives, n+1)
}

// snapshots is a store of snapshots on the disk of a log.
type snapshots struct {
	raft.SnapshotStore
	disk *LogStore
}

// Create begins a snapshot, the server's own or the leader's, for which a disk that is full has no room.
func (s snapshots) Create(version raft.SnapshotVersion, index, term uint64, c raft.Configuration, cIndex uint64, t raft.Transport) (raft.SnapshotSink, error) {
	if s.disk.isFull() {
		return nil, ErrDiskFull
	}
	return s.SnapshotStore.Create(version, index, term, c, cIndex, t)
}

// Reopen returns the storage of a server for its next process.
func (s *Storage) Reopen() (*Storage, error) {
	if s.db == nil {
		next := *s
		next.Life++
		return &next, nil
	}
	next, err := openStorage(s.dir)
	if err != nil {
		return nil, err
	}
	next.Logs.remember(s.Logs)
	return next, nil
}

// Close closes what is open on disk, and nothing the second time.
func (s *Storage) Close() error {
	if s.db == nil {
		return nil
	}
	s.Logs.closed.Store(true)
	if err := s.db.Close(); err != nil {
		return fmt.Errorf("close the Raft log in %s: %w", s.dir, err)
	}
	return nil
}
