package faults

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/behaviours"
	"github.com/simctl/simctl/scenarios/internal/draw"
)

var (
	_ = registerOnLinks("partition", Partition{}, actions.Soak{Draws: []actions.Draw{
		{Kind: actions.OfNetwork, Place: 1, Weight: 2, Event: drawPartition},
		{Kind: actions.OfNetwork, Place: 2, Weight: 1, Event: drawClientsCutOff},
	}})
	_ = registerOnLinks("link_delay", LinkDelay{}, actions.Drawn(actions.OfNetwork, 3, 1, drawLinkDelay))
	_ = registerOnLinks("link_loss", LinkLoss{}, actions.Drawn(actions.OfNetwork, 4, 1, drawLinkLoss))
)

// registerOnLinks declares a keyword of a fault on links, whose ends must exist.
func registerOnLinks[A interface {
	actions.Action
	exist(groups []behaviours.Group) error
}](keyword string, defaults A, s actions.Soak) struct{} {
	return actions.Register(keyword, defaults, func(a A, set *actions.Setting) (actions.Action, error) { return a, a.exist(set.Groups) }, s)
}

// Partition cuts links.
type Partition struct{ Links }

func (a Partition) Mark() string { return a.mark("a partition") }

func (a Partition) Do(s *actions.Stage) error {
	return a.disturb(s, cluster.Link{Loss: 1}, "the partition heals")
}

func drawPartition(s *draw.Source) draw.Event {
	return draw.NewEvent("partition", append([]string{s.Lasts(), fmt.Sprintf("one_way = %t", s.Chance(1, 3))}, drawEnds(s)...)...)
}

func drawClientsCutOff(s *draw.Source) draw.Event {
	return draw.NewEvent("partition", s.Lasts(), "", "from {", "  clients = "+s.Between(0.1, 1), "}")
}

// LinkDelay makes links slower, by Latency and a uniform draw from [0, Jitter).
type LinkDelay struct {
	Links
	Latency, Jitter time.Duration
}

// longestDelay is far beyond what any caller waits for, and far below what virtual time may pass without a run going on.
const longestDelay = time.Hour

func (a LinkDelay) Check(servers int) error {
	err := a.Links.Check(servers)
	switch {
	case a.Latency < 0 || a.Jitter < 0 || a.Latency == 0 && a.Jitter == 0:
		err = errors.Join(err, fmt.Errorf("latency %v and jitter %v: give at least one, above 0", a.Latency, a.Jitter))
	case a.Latency > longestDelay-a.Jitter: // their sum may be too much for a number
		err = errors.Join(err, fmt.Errorf("latency %v and jitter %v: together they must be %v at most", a.Latency, a.Jitter, longestDelay))
	}
	return err
}

func (a LinkDelay) Mark() string { return a.mark("slow links") }

func (a LinkDelay) Do(s *actions.Stage) error {
	return a.disturb(s, cluster.Link{Latency: a.Latency, Jitter: a.Jitter}, "the links are as fast as before")
}

func drawLinkDelay(s *draw.Source) draw.Event {
	return draw.NewEvent("link_delay", append([]string{
		s.Lasts(), "latency = " + s.Delay(time.Millisecond, 800*time.Millisecond), "jitter = " + s.Delay(time.Millisecond, 400*time.Millisecond),
	}, drawEnds(s)...)...)
}

// LinkLoss makes links lose a share of their messages, 0 to 1. Nothing sends a lost message
// again: its caller hears nothing and gives up after 10 s.
type LinkLoss struct {
	Links
	Loss float64
}

func (a LinkLoss) Check(servers int) error {
	err := a.Links.Check(servers)
	if !(a.Loss > 0 && a.Loss <= 1) { // so that a NaN is refused
		err = errors.Join(err, fmt.Errorf("loss %g: it must be a number above 0, up to 1", a.Loss))
	}
	return err
}

func (a LinkLoss) Mark() string { return a.mark(fmt.Sprintf("%g%% loss on the links", a.Loss*100)) }

func (a LinkLoss) Do(s *actions.Stage) error {
	return a.disturb(s, cluster.Link{Loss: a.Loss}, "the links lose nothing more")
}

func drawLinkLoss(s *draw.Source) draw.Event {
	return draw.NewEvent("link_loss", append([]string{s.Lasts(), "loss = " + s.Between(0.02, 0.6)}, drawEnds(s)...)...)
}

// Members is one end of the links that a fault concerns: servers, and clients, either a share of
// the running ones that the fleet's seed chooses or all at a place. The zero value stands for
// everybody who is not at the other end.
type Members struct {
	Servers    Servers
	Clients    float64
	Group      string `lang:"ref=group"`
	Datacenter string
	Racks      []int
}

func (m Members) place() behaviours.Place {
	return behaviours.Place{Group: m.Group, Datacenter: m.Datacenter, Racks: m.Racks}
}

func (m Members) String() string {
	if m.everybody() {
		return "everybody else"
	}
	var parts []string
	if len(m.Servers) > 0 {
		parts = append(parts, m.Servers.String())
	}
	if place := m.place(); !place.Anywhere() {
		parts = append(parts, "the clients of "+place.String())
	}
	if m.Clients > 0 {
		parts = append(parts, fmt.Sprintf("%g%% of the clients", m.Clients*100))
	}
	return strings.Join(parts, ", ")
}

func (m Members) everybody() bool {
	return len(m.Servers) == 0 && m.Clients == 0 && m.place().Anywhere()
}

func (m Members) check(servers int) error {
	if err := actions.ShareOfClients(m.Clients); err != nil {
		return err
	}
	if m.Clients > 0 && !m.place().Anywhere() {
		return fmt.Errorf("clients = %g is a share of all clients: leave it out beside group, datacenter and racks", m.Clients)
	}
	if m.Racks != nil && len(m.Racks) == 0 {
		return errNamesNone("racks")
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
			addrs = append(addrs, s.Simulated.Addr(i))
		}
	}
	if place := m.place(); !place.Anywhere() {
		numbers, err := place.Clients(s.Groups)
		return append(addrs, s.Fleet.IDs(numbers)...), err
	}
	if s.Fleet == nil && m.Clients > 0 {
		return nil, actions.ErrNoClients
	}
	if s.Fleet == nil {
		return addrs, nil
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

// Check is that of every Action on links, or part of it.
func (l Links) Check(servers int) error {
	return errors.Join(l.From.check(servers), l.To.check(servers), actions.Lasting(l.For))
}

// exist returns an error if nobody is at one of the ends.
func (l Links) exist(groups []behaviours.Group) error {
	for _, m := range []Members{l.From, l.To} {
		if place := m.place(); !place.Anywhere() {
			if _, err := place.Clients(groups); err != nil {
				return err
			}
		}
	}
	return nil
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
	s.Begin(l.For, mark, infallible(s.Simulated.DisturbLinks(f)))
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
