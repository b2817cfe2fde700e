package clients

import (
	"errors"
	"fmt"
	"time"

	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/draw"
)

// Every schedule of soak begins with it, so none is drawn.
var _ = actions.RegisterAction("start_clients", StartClients{}, actions.Soak{})

// StartClients brings the whole fleet to life.
type StartClients struct{}

func (StartClients) Follow(h *actions.History) error {
	if h.Started {
		return errors.New("the clients have been started already")
	}
	h.Started = true
	return nil
}

func (StartClients) Mark() string { return "clients start" }

func (StartClients) Do(s *actions.Stage) error {
	s.Fleet.Start(s.Ctx)
	return nil
}

var _ = actions.RegisterAction("stop_clients", StopClients{Fraction: 1}, actions.Drawn(actions.OfClients, 1, 1, drawStopClients))

// StopClients silences a Fraction of the clients or, with a Fraction of 1, those of a Group;
// without For until ResumeClients, and no Heal brings them back.
type StopClients struct {
	Group    string  `lang:"ref=group"`
	Fraction float64 `lang:"max=1"`
	For      time.Duration
}

func (a StopClients) Check(int) error {
	if a.Group != "" && (a.Fraction != 1 || a.For != 0) {
		return errors.New("a group stops as a whole and until resume_clients: leave out fraction and for, or use a behaviour")
	}
	return errors.Join(actions.ShareOfClients(a.Fraction), actions.Lasting(a.For))
}

func (a StopClients) Follow(h *actions.History) error { return h.NeedsClients() }

func (a StopClients) Mark() string {
	if a.Group != "" {
		return "the clients of group " + a.Group + " stop"
	}
	return fmt.Sprintf("%g%% of the clients stop", a.Fraction*100)
}

func (a StopClients) Do(s *actions.Stage) error {
	if a.Group != "" {
		s.Fleet.StopClients(s.Fleet.InGroup(a.Group))
		return nil
	}
	ids := s.Fleet.Stop(a.Fraction)
	if a.For > 0 {
		s.Begin(a.For, "they are back", func() error { s.Fleet.Resume(ids); return nil })
	}
	return nil
}

func drawStopClients(s *draw.Source) draw.Event {
	switch s.Rand.IntN(5) {
	case 0:
		return draw.NewEvent("stop_clients", fmt.Sprintf("group = %q", s.Group()))
	case 1, 2:
		return draw.NewEvent("stop_clients", "fraction = "+s.Between(0.05, 0.3))
	}
	return draw.NewEvent("stop_clients", "fraction = "+s.Between(0.05, 0.3), s.Lasts())
}

var _ = actions.RegisterAction("resume_clients", ResumeClients{}, actions.Drawn(actions.OfClients, 2, 1, drawResumeClients))

// ResumeClients brings back every stopped client, or every client of a Group.
type ResumeClients struct {
	Group string `lang:"ref=group"`
}

func (ResumeClients) Follow(h *actions.History) error { return h.NeedsClients() }

func (a ResumeClients) Mark() string {
	if a.Group != "" {
		return "the clients of group " + a.Group + " are back"
	}
	return "the stopped clients are back"
}

func (a ResumeClients) Do(s *actions.Stage) error {
	if a.Group != "" {
		s.Fleet.StartClients(s.Fleet.InGroup(a.Group))
	} else {
		s.Fleet.Resume(s.Fleet.StoppedNodes())
	}
	return nil
}

func drawResumeClients(s *draw.Source) draw.Event {
	if s.Chance(1, 2) {
		return draw.NewEvent("resume_clients", fmt.Sprintf("group = %q", s.Group()))
	}
	return draw.NewEvent("resume_clients")
}
