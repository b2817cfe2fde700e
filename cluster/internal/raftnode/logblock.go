package raftnode

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"

	"github.com/hashicorp/raft"
	"github.com/klauspost/compress/zstd"
)

// block is a run of old entries, compressed. It is never written again.
type block struct {
	first uint64 // index of the first entry
	count int
	bytes []byte
	sum   uint64 // of the entries, not of bytes
}

func (b *block) end() uint64 { return b.first + uint64(b.count) }

// unpack returns the entries of a block.
func (a *archive) unpack(b *block) []memoryEntry {
	packed, err := a.decoder.DecodeAll(b.bytes, nil)
	if err != nil {
		panic(fmt.Sprintf("unpack %d entries from %d on, which this process packed: %v", b.count, b.first, err))
	}
	entries := make([]memoryEntry, b.count)
	for i := range entries {
		var fields [4]uint64
		for f := range fields {
			var n int
			fields[f], n = binary.Uvarint(packed)
			packed = packed[n:]
		}
		entries[i] = memoryEntry{term: uint32(fields[0]), kind: raft.LogType(fields[1]), appendedAt: int64(fields[2])}
		if size := fields[3]; size > 0 {
			entries[i].data, packed = packed[:size-1:size-1], packed[size-1:]
		}
	}
	return entries
}

// extent is how many entries there are, or how many bytes of data they have.
type extent struct{ entries, bytes int }

// archive lets the logs of one cluster share the blocks of their old entries: servers that
// agree hold the same ones. It is safe for concurrent use.
type archive struct {
	// A block ends with the first entry that gives it ofBlock.bytes, and before an index that
	// ofBlock.entries divides. So logs that begin anywhere end their blocks at the same entries
	// from such an index on. The newest entries, recent of them, are not packed, for Raft reads
	// them often.
	ofBlock, recent extent
	encoder         *zstd.Encoder
	decoder         *zstd.Decoder

	mu     sync.Mutex
	seed   maphash.Seed
	blocks []*block // the newest, for the servers that are behind to find
	packed []byte   // for pack to use again
}

// sharedBlocks is how many blocks an archive keeps for servers that are behind.
const sharedBlocks = 64

func newArchive(ofBlock, recent extent) *archive {
	// IDs are hexadecimal text, which zstd stores in half of what s2 needs.
	encoder, errE := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<19), zstd.WithLowerEncoderMem(true))
	decoder, errD := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err := cmp.Or(errE, errD); err != nil {
		panic(fmt.Sprintf("zstd refuses options that are constant: %v", err))
	}
	return &archive{ofBlock: ofBlock, recent: recent, encoder: encoder, decoder: decoder, seed: maphash.MakeSeed()}
}

// pack returns the block of these entries: that of another log, if one packed the same.
func (a *archive) pack(first uint64, entries []memoryEntry) *block {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.packed = a.packed[:0]
	for _, e := range entries {
		size := 0 // of the data, and 1; zero: none
		if e.data != nil {
			size = len(e.data) + 1
		}
		for _, f := range [...]uint64{uint64(e.term), uint64(e.kind), uint64(e.appendedAt), uint64(size)} {
			a.packed = binary.AppendUvarint(a.packed, f)
		}
		a.packed = append(a.packed, e.data...)
	}
	b := &block{first: first, count: len(entries), sum: maphash.Bytes(a.seed, a.packed)}
	same := func(c *block) bool { return c.first == b.first && c.count == b.count && c.sum == b.sum }
	if i := slices.IndexFunc(a.blocks, same); i >= 0 {
		return a.blocks[i]
	}
	b.bytes = slices.Clone(a.encoder.EncodeAll(a.packed, nil))
	if len(a.blocks) == sharedBlocks {
		a.blocks = slices.Delete(a.blocks, 0, 1)
	}
	a.blocks = append(a.blocks, b)
	return b
}
