// Package nomadrpc speaks the RPC protocol between Nomad's clients and servers, at both ends.
//
// A connection starts with a byte that says what follows (nomad/rpc.go, handleConn): 0x04
// for TLS, inside which another such byte follows; 0x06 for a yamux session each of whose
// streams starts with a byte of its own; 0x03 for a session whose streams have none; 0x01
// for calls. Calls are those of net/rpc, one at a time on a stream, in MessagePack: the
// header, then the argument; the header of the answer, then the answer. Streaming calls
// (0x05) are refused with the answer that Nomad gives to an unknown method. Raft (0x02) is
// not spoken.
//
// Session is the client's end, Server the server's. Both ends serve the streams that the
// other opens, but a Session knows no methods: it refuses what servers ask of real clients.
//
// # What the other end can do to this one
//
// A message is read whole before it is decoded, and has limits on its bytes, its values and
// its depth (Limits), so that a length that is a lie costs nothing. Deadlines hold for the
// bytes at the start of connections and streams, for the rest of a message once it has begun,
// and for writes. A Server limits connections, connections of an address, streams of a
// connection, and large messages at a time. Bad input closes the connection, or the stream
// if the session can go on, with one line in the log; lines of a kind are at most one a
// second. What yamux itself keeps, data that nobody has read yet and pings that wait for
// their answers, is bounded for each connection (frames.go).
//
// The structs have the fields that this module reads or writes, by Nomad's names. Whatever
// else a message has is skipped.
package nomadrpc
