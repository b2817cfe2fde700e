package identity

import (
	"errors"
	"testing"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
)

// TestIdentities: an identity is renewed in the last third of its time; without signatures a
// node is let in until ten minutes before the end, and after the end only to register.
func TestIdentities(t *testing.T) {
	ids := Identities{TTL: 3 * time.Hour}
	at := func(minutes int) time.Time { return time.Unix(0, 0).Add(time.Duration(minutes) * time.Minute) }
	for _, step := range []struct {
		minutes int
		call    func(string, time.Time) error
		outage  int // that begins before the call, or ends
		want    error
		expires int // minutes
	}{
		{0, ids.Register, 0, nil, 180},
		{1, ids.Register, 0, nil, 180},
		{120, ids.Heartbeat, 0, nil, 180},
		{121, ids.Heartbeat, 0, nil, 301},
		{242, ids.Heartbeat, 1, nil, 301},
		{290, ids.Heartbeat, 0, nil, 301},
		{292, ids.Heartbeat, 0, errUnsigned, 301},
		{292, ids.Check, 0, nil, 301},
		{293, ids.Heartbeat, -1, nil, 473},
		{474, ids.Check, 0, rpc.ErrPermissionDenied, 473},
		{474, ids.Heartbeat, 0, rpc.ErrPermissionDenied, 473},
		{475, ids.Register, 1, errUnsigned, 473},
		{476, ids.Register, -1, nil, 656},
	} {
		ids.FailSigning(step.outage)
		if err := step.call("n", at(step.minutes)); !errors.Is(err, step.want) || err != nil && step.want == nil {
			t.Errorf("after %d min: %v, want %v", step.minutes, err, step.want)
		}
		if got := ids.expires["n"]; !got.Equal(at(step.expires)) {
			t.Errorf("after %d min it expires at %v, want %d min", step.minutes, got.Sub(at(0)), step.expires)
		}
	}
	var none Identities
	none.FailSigning(1)
	for _, call := range []func(string, time.Time) error{none.Check, none.Register, none.Heartbeat} {
		if err := call("n", at(0)); err != nil {
			t.Errorf("nobody needs one: %v", err)
		}
	}
}
