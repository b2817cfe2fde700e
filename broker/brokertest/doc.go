// Package brokertest holds what the broker's tests check it against: the runner of the
// transcripts in broker/testdata, a deliberately naive oracle, and the driver that sends
// random operations to both.
//
// It is imported by tests only; nothing that simctl ships may import it.
package brokertest
