package uuid

import (
	"encoding/binary"
	"math/rand/v2"
	"regexp"
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

func FuzzParse(f *testing.F) {
	f.Add("01234567-89ab-cdef-fedc-ba9876543210")
	f.Add("01234567-89AB-cdef-fedc-ba9876543210")
	f.Add("01234567-89ab-cdef-fedc-ba987654321g")
	f.Add("0123456789abcdeffedcba987654321000000")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		raw, ok := Parse(text)
		back := Format(binary.BigEndian.Uint64(raw[:8]), binary.BigEndian.Uint64(raw[8:]))
		if ok && back != text {
			t.Errorf("Parse(%q) is %s", text, back)
		}
		if !ok && len(text) == 36 && form.MatchString(text) {
			t.Errorf("Parse(%q) reports false", text)
		}
	})
}

var form = regexp.MustCompile("^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
