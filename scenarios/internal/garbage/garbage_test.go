package garbage

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

func TestGrowth(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		live uint64
		heap Heap // in MiB
		want uint64
	}{
		{0, Heap{1500, 0, 0, 0}, 400},        // nothing is known yet
		{50, Heap{1500, 0, 0, 0}, 400},       // small: four times as much garbage, not thirty
		{500, Heap{1500, 0, 0, 0}, 200},      // fills the share
		{1200, Heap{1500, 0, 0, 0}, 35},      // would fill it with less garbage still
		{9000, Heap{1500, 0, 0, 0}, 35},      // larger than the share: never collect without end
		{500, Heap{600, 300, 0, 0}, 35},      // most is less than the share
		{500, Heap{600, 2000, 0, 0}, 100},    // as much garbage as data
		{1250, Heap{600, 2000, 0, 0}, 60},    // up to most
		{1900, Heap{600, 2000, 0, 0}, 35},    //
		{1250, Heap{600, 2000, 6000, 0}, 60}, // large says nothing yet
		{1600, Heap{600, 2000, 6000, 0}, 35}, // five sixths of most
		{2000, Heap{600, 2000, 6000, 0}, 83}, // and five times what is beyond
		{4000, Heap{600, 2000, 6000, 0}, 50}, // up to large
		{5500, Heap{600, 2000, 6000, 0}, 35}, //
		{2500, Heap{600, 2000, 3000, 0}, 35}, // a limit of memory
	} {
		heap := Heap{c.heap.Share * mib, c.heap.Most * mib, c.heap.Large * mib, 0}
		got := heap.growth(c.live * mib)
		if got < c.want-2 || got > c.want+2 {
			t.Errorf("%d MiB live, a heap of %+v MiB: grows by %d%%, want about %d%%", c.live, c.heap, got, c.want)
		}
	}
}

// TestCollect: a heap that has grown as far as it may is due before Go collects it by itself, and is
// collected once.
func TestCollect(t *testing.T) {
	live := make([]byte, 64<<20)
	runtime.GC() // so that Go knows how much is live
	stop := Tune(Heap{}, 2)
	defer stop()
	patient := time.Now().Add(time.Minute)
	for i := 0; !Due(); i++ {
		if time.Now().After(patient) {
			t.Fatal("more than a third of the heap is garbage, and nothing is due")
		}
		if i < 64*(35+3)/100 {
			sink = make([]byte, 1<<20)
		}
		runtime.Gosched()
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	processors := runtime.GOMAXPROCS(0)
	Collect()
	runtime.ReadMemStats(&after)
	if Due() || after.NumForcedGC != before.NumForcedGC+1 || runtime.GOMAXPROCS(0) != processors {
		t.Errorf("collected %d times, due %v, %d processors; want once, nothing due, and %d processors",
			after.NumForcedGC-before.NumForcedGC, Due(), runtime.GOMAXPROCS(0), processors)
	}
	runtime.KeepAlive(live)
}

// TestTuneEnds: once it has stopped, Go collects as it did before.
func TestTuneEnds(t *testing.T) {
	Tune(Heap{Share: 1 << 30}, 1)()
	if got := debug.SetGCPercent(100); got != 100 || Due() {
		t.Errorf("GOGC is %d, due %v", got, Due())
	}
}

var sink []byte
