package nomadproc

import (
	"fmt"
	"net"
	"strconv"
)

// The ports of a cluster are consecutive, and below those that systems hand out to connections. They are for MaxServers
// servers. No server uses the port after them: a process that listens there has claimed the whole range. Nobody listens
// there for a cluster that no process holds. It keeps its range by its servers: a range with any port in use is not free.
const (
	firstPort     = 23646
	lastPort      = 29999
	portsOfServer = 3
	claimed       = portsOfServer * MaxServers
)

// layOut gives n servers free ports, which nobody else is given until claim is closed.
func layOut(n int) (servers []Server, claim net.Listener, err error) {
	for from := firstPort; from+claimed <= lastPort; from += claimed + 1 {
		claim, err := net.Listen("tcp", net.JoinHostPort(loopback, strconv.Itoa(from+claimed)))
		if err != nil {
			continue
		}
		if !free(from, claimed) {
			_ = claim.Close()
			continue
		}
		for i := range n {
			at := func(k int) string { return net.JoinHostPort(loopback, strconv.Itoa(from+portsOfServer*i+k)) }
			servers = append(servers, Server{Name: fmt.Sprintf("server-%d", i+1), HTTP: at(0), RPC: at(1), Serf: at(2)})
		}
		return servers, claim, nil
	}
	return nil, nil, fmt.Errorf("no %d consecutive ports of %s are free between %d and %d", portsOfServer*n, loopback, firstPort, lastPort)
}

// free reports whether nobody listens on the ports, with TCP or UDP.
func free(from, n int) bool {
	for p := from; p < from+n; p++ {
		addr := net.JoinHostPort(loopback, strconv.Itoa(p))
		l, err := net.Listen("tcp", addr)
		if err != nil {
			return false
		}
		u, err := net.ListenPacket("udp", addr)
		_ = l.Close()
		if err != nil {
			return false
		}
		_ = u.Close()
	}
	return true
}

// port returns the port of an address of layOut.
func port(addr string) int {
	_, p, _ := net.SplitHostPort(addr)
	n, _ := strconv.Atoi(p)
	return n
}
