package garbage

import (
	"os"
	"syscall"
	"testing"
	"unsafe"
)

// TestTouch: what is reserved is touched in parts, in its order, and once.
func TestTouch(t *testing.T) {
	const size = 64 << 20
	memory, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Munmap(memory) }()
	from := uintptr(unsafe.Pointer(unsafe.SliceData(memory)))
	before := reserved.areas
	defer func() { reserved.areas = before }()
	reserved.areas = []area{{from, from + size/2}, {from + size/2, from + size}}
	for _, want := range []int{24, 32, 56, 64, 64} {
		touch(24 << 20)
		if got := resident(t, memory) >> 20; got != want {
			t.Errorf("%d MiB are there, want %d", got, want)
		}
	}
	if len(reserved.areas) > 0 {
		t.Errorf("%v were not touched", reserved.areas)
	}
}

// resident returns how many bytes of memory the system has backed by pages.
func resident(t *testing.T, memory []byte) (bytes int) {
	t.Helper()
	pages := make([]byte, len(memory)/os.Getpagesize())
	if _, _, errno := syscall.Syscall(syscall.SYS_MINCORE, uintptr(unsafe.Pointer(&memory[0])), uintptr(len(memory)), uintptr(unsafe.Pointer(&pages[0]))); errno != 0 {
		t.Fatal(errno)
	}
	for _, p := range pages {
		bytes += int(p&1) * os.Getpagesize()
	}
	return bytes
}
