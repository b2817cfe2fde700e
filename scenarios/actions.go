package scenarios

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Server picks a server: by its number, counted from 0, or by what it does when the event
// happens.
type Server int

const (
	// Leader is the server that leads. Without one the event is tried again.
	Leader Server = -1
	// Follower is the first running server that does not lead.
	Follower Server = -2
)

func (s Server) String() string {
	switch s {
	case Leader:
		return "the leader"
	case Follower:
		return "a follower"
	}
	return fmt.Sprintf("server %d", int(s)+1)
}

// Members is one end of the links a fault concerns: servers, and a share of the running
// clients that the fleet's seed chooses. The zero value stands for everybody who is not at
// the other end.
type Members struct {
	Servers []Server
	Clients float64
}

func (m Members) String() string {
	if m.everybody() {
		return "everybody else"
	}
	var parts []string
	for _, s := range m.Servers {
		parts = append(parts, s.String())
	}
	if m.Clients > 0 {
		parts = append(parts, fmt.Sprintf("%g%% of the clients", m.Clients*100))
	}
	return strings.Join(parts, ", ")
}

func (m Members) everybody() bool { return len(m.Servers) == 0 && m.Clients == 0 }

// Faults. One that lasts has For: it ends by itself after that time, and its phase not
// before it; zero means until Heal, or until the last phase is over. Faults add up.
type (
	// KillServer ends a server's process, as a crash does. Its Raft log, votes and snapshots
	// stay; when the fault ends it starts again from them.
	KillServer struct {
		Server Server
		For    time.Duration
	}
	// StartServer starts a killed server again.
	StartServer struct{ Server Server }
	// PauseServer cuts a server off from everybody, as a process that is stopped, or a
	// machine that swaps, is to others: what is sent to it is not answered. What differs from
	// such a process is in docs/adr/0602.
	PauseServer struct {
		Server Server
		For    time.Duration
	}
	// Partition cuts the links between two ends, in one direction only if it is OneWay. With
	// neither end given it cuts every link.
	Partition struct {
		From, To Members
		OneWay   bool
		For      time.Duration
	}
	// LinkDelay makes links slower, by Latency and a uniform draw from [0, Jitter).
	LinkDelay struct {
		From, To        Members
		OneWay          bool
		Latency, Jitter time.Duration
		For             time.Duration
	}
	// LinkLoss makes links lose a share of their messages, 0 to 1. Nothing sends a lost
	// message again: its caller hears nothing and gives up after 10 s.
	LinkLoss struct {
		From, To Members
		OneWay   bool
		Loss     float64
		For      time.Duration
	}
	// SlowDisk makes every write to the Raft log take that much longer; no servers = all.
	SlowDisk struct {
		Servers []Server
		Longer  time.Duration
		For     time.Duration
	}
	// SlowApply makes the state machine take that much longer for each entry; no servers =
	// all.
	SlowApply struct {
		Servers []Server
		Longer  time.Duration
		For     time.Duration
	}
	// SkewClocks makes the clocks of a share of the clients run at a rate: below 1 their
	// heartbeats come late.
	SkewClocks struct {
		Clients float64
		Rate    float64
		For     time.Duration
	}
	// StopClients silences a share of the clients; without For until ResumeClients, and no
	// Heal brings them back.
	StopClients struct {
		Fraction float64
		For      time.Duration
	}
	// ResumeClients brings every stopped client back.
	ResumeClients struct{}
	// FlapClients stops a share of the clients for Down and brings them back for Up, Times
	// times.
	FlapClients struct {
		Fraction float64
		Down, Up time.Duration
		Times    int
	}
	// Heal ends every fault that is under way and starts every killed server.
	Heal struct{}
)

// checkable is an Action that can be wrong before anything runs.
type checkable interface {
	// check returns what is wrong with the action in a cluster of that many servers.
	check(servers int) error
}

// validate names the first event that cannot happen.
func (s *Scenario) validate() error {
	for _, p := range s.Phases {
		for i, e := range p.Events {
			c, ok := e.Action.(checkable)
			if !ok {
				continue
			}
			if err := c.check(s.Cluster.Servers); err != nil {
				return fmt.Errorf("phase %s, event %d (%T): %w", p.Name, i+1, e.Action, err)
			}
		}
	}
	return nil
}

func (s Server) check(servers int) error {
	if s < Follower || int(s) >= servers {
		return fmt.Errorf("there is no %v: the scenario has %d", s, servers)
	}
	return nil
}

func (m Members) check(servers int) error {
	if !(m.Clients >= 0 && m.Clients <= 1) { // so that a NaN is refused
		return fmt.Errorf("a share of %g of the clients: it must be a number from 0 to 1", m.Clients)
	}
	return checkServers(m.Servers, servers)
}

func checkServers(list []Server, servers int) error {
	for i, s := range list {
		if err := s.check(servers); err != nil {
			return err
		}
		if slices.Contains(list[:i], s) {
			return fmt.Errorf("%v is named twice", s)
		}
	}
	return nil
}

// positive returns an error unless every duration is above zero.
func positive(name string, d time.Duration) error {
	if d <= 0 {
		return fmt.Errorf("%s is %v: it must be above 0", name, d)
	}
	return nil
}

func lasting(d time.Duration) error {
	if d < 0 {
		return fmt.Errorf("it lasts %v: that must not be below 0", d)
	}
	return nil
}

func share(f float64) error {
	if !(f >= 0 && f <= 1) {
		return fmt.Errorf("a share of %g of the clients: it must be a number from 0 to 1", f)
	}
	return nil
}

func (a KillServer) check(n int) error  { return errors.Join(a.Server.check(n), lasting(a.For)) }
func (a StartServer) check(n int) error { return a.Server.check(n) }
func (a PauseServer) check(n int) error { return errors.Join(a.Server.check(n), lasting(a.For)) }

func (a Partition) check(n int) error {
	return errors.Join(a.From.check(n), a.To.check(n), lasting(a.For))
}

func (a LinkDelay) check(n int) error {
	err := errors.Join(a.From.check(n), a.To.check(n), lasting(a.For))
	if a.Latency < 0 || a.Jitter < 0 || a.Latency+a.Jitter == 0 {
		err = errors.Join(err, fmt.Errorf("latency %v and jitter %v: give at least one, above 0", a.Latency, a.Jitter))
	}
	return err
}

func (a LinkLoss) check(n int) error {
	err := errors.Join(a.From.check(n), a.To.check(n), lasting(a.For))
	if !(a.Loss > 0 && a.Loss <= 1) {
		err = errors.Join(err, fmt.Errorf("loss %g: it must be a number above 0, up to 1", a.Loss))
	}
	return err
}

func (a SlowDisk) check(n int) error {
	return errors.Join(checkServers(a.Servers, n), positive("the delay", a.Longer), lasting(a.For))
}

func (a SlowApply) check(n int) error {
	return errors.Join(checkServers(a.Servers, n), positive("the delay", a.Longer), lasting(a.For))
}

func (a SkewClocks) check(int) error {
	err := errors.Join(share(a.Clients), lasting(a.For))
	if !(a.Rate > 0) {
		err = errors.Join(err, fmt.Errorf("a clock rate of %g: it must be a number above 0", a.Rate))
	}
	return err
}

func (a StopClients) check(int) error { return errors.Join(share(a.Fraction), lasting(a.For)) }

func (a FlapClients) check(int) error {
	err := errors.Join(share(a.Fraction), positive("down", a.Down), positive("up", a.Up))
	if a.Times < 1 {
		err = errors.Join(err, fmt.Errorf("%d times: it must be at least once", a.Times))
	}
	return err
}
