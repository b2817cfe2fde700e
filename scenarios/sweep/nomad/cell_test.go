package nomad

import (
	"bytes"
	"compress/gzip"
	"reflect"
	"testing"

	"github.com/simctl/simctl/scenarios"
)

// FuzzPayload: a dispatched payload is the Spec that was packed, or an error, even if it was
// cut or changed on its way.
func FuzzPayload(f *testing.F) {
	f.Add([]byte(`{"scenario":"heartbeat-storm","seed":1}`), 0, byte(0))
	f.Add([]byte(`{"scenario":"mine","vars":{"nodes":"5"}} {}`), 10, byte(1))
	f.Add([]byte(`not JSON`), 30, byte(255))
	f.Fuzz(func(t *testing.T, text []byte, at int, flip byte) {
		var buf bytes.Buffer
		zip := gzip.NewWriter(&buf)
		if _, err := zip.Write(text); err != nil {
			t.Fatal(err)
		}
		if err := zip.Close(); err != nil {
			t.Fatal(err)
		}
		spec, err := unpackSpec(buf.Bytes())
		if err == nil {
			packed, err := packSpec(spec)
			if err != nil {
				return // too large
			}
			again, err := unpackSpec(packed)
			if err != nil || differ(again, spec) {
				t.Errorf("%+v arrives as %+v (%v)", spec, again, err)
			}
		}
		// What is changed on the way is an error, or in bytes that say nothing.
		if changed := buf.Bytes(); at >= 0 {
			changed[at%len(changed)] ^= flip
			if other, err2 := unpackSpec(changed); err2 == nil && err == nil && differ(other, spec) {
				t.Errorf("byte %d was changed by %d and the spec is %+v, want %+v", at%len(changed), flip, other, spec)
			}
			if _, err := unpackSpec(changed[:at%len(changed)]); err == nil {
				t.Errorf("the first %d bytes of %d are a spec", at%len(changed), len(changed))
			}
		}
	})
}

func differ(a, b scenarios.Spec) bool { return !reflect.DeepEqual(a, b) }
