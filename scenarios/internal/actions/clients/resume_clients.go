package clients

import (
	"fmt"

	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/draw"
)

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
