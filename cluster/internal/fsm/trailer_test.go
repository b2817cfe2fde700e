package fsm

import (
	"bytes"
	"testing"

	"github.com/simctl/simctl/cluster/rpc"
)

// TestTrailer: the definition of a job goes through the log, and costs an entry without one
// no byte.
func TestTrailer(t *testing.T) {
	encode := func(definition []byte) []byte {
		data, err := JobRegister.With(&JobRegisterRequest{Job: &rpc.Job{ID: "web", Definition: definition}, Time: 1}).Encode()
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	definition := []byte{0, 0xc1, 'x'}
	bare, full := encode(nil), encode(definition)
	if !bytes.Equal(full, append(bare, definition...)) {
		t.Errorf("the entry %x is not %x and then %x", full, bare, definition)
	}
	for _, data := range [][]byte{bare, full} {
		c, err := Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		got := c.req.(*JobRegisterRequest)
		if got.Job.ID != "web" || !bytes.Equal(got.Job.Definition, data[len(bare):]) {
			t.Errorf("decoded %+v with the definition %x, want %x", got.Job, got.Job.Definition, data[len(bare):])
		}
	}
}
