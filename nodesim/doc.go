// Package nodesim is a fleet of simulated Nomad clients: it decides when each client
// calls which server, and makes those calls.
//
// What a client does is a state machine over data (client.go, watch.go, allocs.go,
// retry.go): it is told the time and the answer to its last call, and says when it acts
// next. It reads no clock, starts nothing and blocks on nothing. The Fleet (fleet.go)
// drives all of them from one delaying queue and one timer; only a call that is under
// way has a goroutine. Servers are reached through rpc.NodeServer alone, so the same
// fleet serves the in-process cluster and any transport that implements that interface.
//
// # A client's life
//
// The client followed is client/client.go and client/rpc.go of Nomad 1.4.3. A stagger of
// d is a uniform draw from [0, d); a retry of d waits d plus a stagger of d, that is
// [d, 2d) (retryIntv). Each client runs three loops, and each loop owns a seeded source
// of its own, so that no loop's draws depend on when another loop drew.
//
//	node loop   registers as initializing at a stagger of RegisterStagger; a failure is
//	            tried again after a retry of RegisterRetry. Then the first heartbeat, at
//	            a stagger of FirstHeartbeat, turns the node ready, and the next follows
//	            at exactly the TTL the server returned: the server has put the jitter
//	            into the TTL, the client adds none. After an error:
//	              node not found            register again at once, as ready, and heartbeat
//	                                        at a stagger of RegisterStagger
//	              never heartbeated yet     a retry of RegisterRetry
//	              otherwise                 HeartbeatRetry's rule over the time left
//	watch loop  GetClientAllocs, again at once with the index it returned; after an error
//	            a retry of WatchRetry.
//	sync loop   a ticker of AllocSync that sends the changed allocation statuses, if
//	            there are any, in one UpdateAlloc; after an error the ticker is reset to
//	            a retry of AllocSyncRetry, and after a success to AllocSync.
//
// Below the loops, a call answered with "no leader" is tried again within RPCHold, after
// a stagger of RPCHold/16; so is a read whose server became unreachable. Any error at
// all moves the client on to its next server. And any call that succeeds ends the
// client's other waits at once (fireRpcRetryWatcher): a watch that waits to retry, but
// also the wait for the next heartbeat, so a client whose allocations change heartbeats
// more often than its TTL asks for. That is what Nomad does.
//
// It must not import the control plane (cluster, broker) or scenarios.
package nodesim
