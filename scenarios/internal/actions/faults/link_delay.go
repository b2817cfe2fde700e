package faults

import (
	"errors"
	"fmt"
	"time"

	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/draw"
)

var _ = actions.RegisterAction("link_delay", LinkDelay{}, actions.Drawn(actions.OfNetwork, 3, 1, drawLinkDelay))

// LinkDelay makes links slower, by Latency and a uniform draw from [0, Jitter).
type LinkDelay struct {
	Links
	Latency, Jitter time.Duration
}

func (a LinkDelay) Check(servers int) error {
	err := a.check(servers)
	if a.Latency < 0 || a.Jitter < 0 || a.Latency+a.Jitter == 0 {
		err = errors.Join(err, fmt.Errorf("latency %v and jitter %v: give at least one, above 0", a.Latency, a.Jitter))
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
