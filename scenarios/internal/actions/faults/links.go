package faults

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/draw"
)

// Members is one end of the links that a fault concerns: servers, and a share of the running
// clients that the fleet's seed chooses. The zero value stands for everybody who is not at
// the other end.
type Members struct {
	Servers Servers
	Clients float64
}

func (m Members) String() string {
	if m.everybody() {
		return "everybody else"
	}
	var parts []string
	if len(m.Servers) > 0 {
		parts = append(parts, m.Servers.String())
	}
	if m.Clients > 0 {
		parts = append(parts, fmt.Sprintf("%g%% of the clients", m.Clients*100))
	}
	return strings.Join(parts, ", ")
}

func (m Members) everybody() bool { return len(m.Servers) == 0 && m.Clients == 0 }

func (m Members) check(servers int) error {
	if err := actions.ShareOfClients(m.Clients); err != nil {
		return err
	}
	return m.Servers.check(servers)
}

// addresses finds the members' addresses; nil for everybody else.
func (m Members) addresses(s *actions.Stage) ([]string, error) {
	if m.everybody() {
		return nil, nil
	}
	addrs := []string{}
	if len(m.Servers) > 0 {
		ids, err := m.Servers.pick(s.Cluster)
		if err != nil {
			return nil, err
		}
		for _, i := range ids {
			addrs = append(addrs, s.Cluster.Addr(i))
		}
	}
	return append(addrs, s.Fleet.Choose(m.Clients)...), nil
}

// Links are the links between two ends, in one direction only if OneWay is set, and for how
// long a fault disturbs them. With neither end given they are all links.
type Links struct {
	From, To Members
	OneWay   bool
	For      time.Duration
}

func (l Links) check(servers int) error {
	return errors.Join(l.From.check(servers), l.To.check(servers), actions.Lasting(l.For))
}

// mark says what is the matter with the links.
func (l Links) mark(what string) string {
	if l.From.everybody() && l.To.everybody() {
		return what + " between all"
	}
	if l.OneWay {
		return fmt.Sprintf("%s from %v to %v", what, l.From, l.To)
	}
	return fmt.Sprintf("%s between %v and %v", what, l.From, l.To)
}

func (l Links) disturb(s *actions.Stage, link cluster.Link, mark string) error {
	f := cluster.LinkFault{OneWay: l.OneWay, Link: link}
	var err error
	if f.From, err = l.From.addresses(s); err != nil {
		return err
	}
	if f.To, err = l.To.addresses(s); err != nil {
		return err
	}
	s.Begin(l.For, mark, infallible(s.Cluster.DisturbLinks(f)))
	return nil
}

// infallible gives the end of a fault an error that is never there.
func infallible(end func()) func() error {
	return func() error { end(); return nil }
}

// drawEnds draws the ends of the links that a fault concerns; none for all links.
func drawEnds(s *draw.Source) []string {
	lines := []string{}
	if s.Chance(3, 4) {
		lines = append(lines, "", "from {", "  servers = ["+s.Server()+"]", "}", "")
	}
	return lines
}
