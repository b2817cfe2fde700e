package faults

import (
	"errors"
	"fmt"

	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/draw"
)

var _ = actions.RegisterAction("link_loss", LinkLoss{}, actions.Drawn(actions.OfNetwork, 4, 1, drawLinkLoss))

// LinkLoss makes links lose a share of their messages, 0 to 1. Nothing sends a lost message
// again: its caller hears nothing and gives up after 10 s.
type LinkLoss struct {
	Links
	Loss float64
}

func (a LinkLoss) Check(servers int) error {
	err := a.check(servers)
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
