// Package brokertest holds the broker to what is expected of it: by transcripts, which it
// runs from broker/testdata, and by an oracle, a naive broker to which a Driver sends the
// same random operations.
//
// Only tests may import it; nothing that simctl ships does.
package brokertest
