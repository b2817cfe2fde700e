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

	// recentEntries is how many entries at least a log in memory keeps as they are, and
	// blockSize how many older ones it compresses together.
	recentEntries = 4096
	blockSize     = 1024
)

// Storage is what of a server outlives its process: its Raft log, its votes and its
// snapshots, in memory or, as Nomad's setupRaft has them, on disk.
type Storage struct {
	// Logs is Raft's log.
	Logs   *LogStore
	stable raft.StableStore
	snaps  raft.SnapshotStore

	dir string                // of this server alone; empty: in memory
	db  *raftboltdb.BoltStore // under logs and stable; nil: in memory
}

// Storages makes the storage of each server of one cluster.
type Storages struct {
	dataDir string // empty: in memory
	archive *archive
}

// NewStorages returns the storages of a cluster below dataDir or, if that is empty, in memory.
func NewStorages(dataDir string) *Storages {
	return &Storages{dataDir, newArchive(blockSize, recentEntries)}
}

// New makes the storage of a server that never ran.
func (s *Storages) New(name string) (*Storage, error) {
	if s.dataDir == "" {
		return &Storage{
			Logs: newLogStore(newMemoryLog(s.archive)), stable: raft.NewInmemStore(), snaps: raft.NewInmemSnapshotStore(),
		}, nil
	}
	dir := filepath.Join(s.dataDir, name)
	err := os.MkdirAll(s.dataDir, 0o755)
	if err == nil {
		// What an earlier process left is no use: IDs are drawn, and events counted, anew.
		err = os.Mkdir(dir, 0o755)
	}
	if errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("%w: a cluster needs a data directory without servers", err)
	}
	if err != nil {
		return nil, fmt.Errorf("make the data directory of %s: %w", name, err)
	}
	return openStorage(dir)
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
	return &Storage{Logs: newLogStore(cache), stable: db, snaps: snaps, dir: dir, db: db}, nil
}

// Reopen returns the storage of a server for its next process.
func (s *Storage) Reopen() (*Storage, error) {
	if s.db == nil {
		return s, nil
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
