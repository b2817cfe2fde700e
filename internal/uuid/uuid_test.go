package uuid

import (
	"math/rand/v2"
	"testing"
)

func TestFormat(t *testing.T) {
	if got, want := Format(0x0123456789abcdef, 0xfedcba9876543210), "01234567-89ab-cdef-fedc-ba9876543210"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// constant is a source of one number.
type constant uint64

func (c constant) Uint64() uint64 { return uint64(c) }

func TestRandomSetsVersionAndVariant(t *testing.T) {
	for src, want := range map[constant]string{
		0:            "00000000-0000-4000-8000-000000000000",
		^constant(0): "ffffffff-ffff-4fff-bfff-ffffffffffff",
	} {
		if got := Random(src); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	a, b := rand.NewPCG(1, 2), rand.NewPCG(1, 2)
	if x, y := Random(a), Random(b); x != y || x == Random(a) {
		t.Errorf("one seed gives %s and %s, then %s again", x, y, x)
	}
}

func BenchmarkFormat(b *testing.B) {
	b.ReportAllocs()
	for n := uint64(0); b.Loop(); n++ {
		Format(n, n)
	}
}
