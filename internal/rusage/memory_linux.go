package rusage

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// ringWords are 4 MiB: more than a core's own caches hold, and little of those that all cores share.
	ringWords = 1 << 20
	// ringReads take a millisecond or less, far more than looking at the clock does.
	ringReads = 4000
)

// ring is memory of which each word says where the next one is, so that no processor reads ahead.
type ring struct {
	mu   sync.Mutex
	next []uint32
	at   uint32
}

var memory = sync.OnceValue(func() *ring { return newRing(ringWords) })

// newRing returns a ring through all its words, in an order that is always the same.
func newRing(words int) *ring {
	next := make([]uint32, words)
	for i := range next {
		next[i] = uint32(i)
	}
	draw := rand.New(rand.NewPCG(1, 1))
	for i := len(next) - 1; i > 0; i-- { // Sattolo: one cycle
		j := draw.IntN(i)
		next[i], next[j] = next[j], next[i]
	}
	return &ring{next: next}
}

// walk reads so many words, one after the other.
func (r *ring) walk(reads int) {
	for range reads {
		r.at = r.next[r.at]
	}
}

// ReadTime returns how long it takes to read a word of this machine's memory that a processor cannot foresee: the mean of 4,000, in
// processor time. On a virtual machine it can differ by the hour, though computing takes as long as
// ever. It takes a millisecond of processor time, and is safe for concurrent use. It returns zero if the system does not
// report the processor time of a thread.
func ReadTime() time.Duration {
	r := memory()
	r.mu.Lock()
	defer r.mu.Unlock()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began, ok := thread()
	r.walk(ringReads)
	ended, stillOK := thread()
	if !ok || !stillOK {
		return 0
	}
	return (ended - began) / ringReads
}

// thread returns the processor time of the calling thread.
func thread() (spent time.Duration, ok bool) {
	var ts unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts)
	return time.Duration(ts.Nano()), err == nil
}
