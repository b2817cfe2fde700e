package judge

import "testing"

// TestCalls: each call once, whichever method it has, and whichever came between.
func TestCalls(t *testing.T) {
	var c Calls
	wantCheck(t, c.Verdict(), InvariantCalls, true, "0 calls")
	for call := range uint64(3) {
		c.See(call, "Node.Register")
	}
	wantCheck(t, c.Verdict(), InvariantCalls, true, "3 calls")
	c.See(1, "Node.Register")
	wantCheck(t, c.Verdict(), InvariantCalls, false, "3 calls; 1 was carried out again, the first: call 1, Node.Register")
	c.See(2, "Eval.Ack")
	c.See(2, "Eval.Ack")
	wantCheck(t, c.Verdict(), InvariantCalls, false, "3 calls; 3 were carried out again, the first: call 1, Node.Register")
}
