// Package nodesim is a fleet of simulated Nomad clients: it decides when each client
// calls which server, and makes those calls.
//
// A client is a state machine over data (client.go, allocs.go). It is told the
// time and the answer to its last call, and says when it acts next; it reads no clock,
// starts nothing and blocks on nothing. The Fleet (fleet.go) drives all clients from one
// delaying queue and one timer, and has a goroutine only for each call under way; a
// GetClientAllocs that waits for a change has none. It reaches servers through
// rpc.NodeServer alone, so the same fleet serves the in-process cluster and any transport
// that implements that interface.
//
// # A client's life
//
// The models are client/client.go and client/rpc.go of Nomad 1.4.3. A stagger of d is a
// uniform draw from [0, d); a retry of d waits for d plus a stagger of d (retryIntv). Each
// client runs three loops, and each loop has a seeded source of its own, so that no loop's
// draws depend on when another loop drew.
//
//	node loop   registers as initializing at a stagger of RegisterStagger; a failure is
//	            tried again after a retry of RegisterRetry. Then the first heartbeat, at
//	            a stagger of FirstHeartbeat, turns the node ready, and the next follows
//	            at exactly the TTL the server returned: the server has put the jitter
//	            into the TTL, the client adds none. After an error:
//	              node not found            register again at once, as ready, and heartbeat
//	                                        at a stagger of RegisterStagger
//	              never heartbeated yet     a retry of RegisterRetry
//	              otherwise                 by heartbeatRetry, over the time left
//	            A node whose attributes have changed registers again at a retry of
//	            NodeUpdate, between heartbeats, with all that has changed by then.
//	watch loop  GetClientAllocs, again at once with the index it returned; after an error
//	            a retry of WatchRetry.
//	sync loop   a ticker of AllocSync that sends the changed allocation statuses, if
//	            there are any, in one UpdateAlloc; after an error the ticker is reset to
//	            a retry of AllocSyncRetry, and after a success to AllocSync. What is not
//	            urgent waits for a tick of AllocSyncTypical.
//
// Below the loops, a call answered with "no leader" is tried again within RPCHold, after
// a stagger of RPCHold/16; so is a read whose server became unreachable, which may then block
// for what is left of its time, and up to 1.9.5 so do those after it. Any error moves
// the client on to its next server. Any call that succeeds ends the client's other waits
// at once (fireRpcRetryWatcher), as it does in Nomad: that of a watch to be retried, but
// also that for the next heartbeat, so that a client whose allocations change heartbeats
// more often than its TTL asks for.
//
// The package imports cluster/rpc and internal/uuid. It must not import the control plane
// (cluster, broker) or scenarios.
package nodesim
