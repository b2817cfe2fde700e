package operations

import (
	"fmt"

	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/draw"
	"github.com/simctl/simctl/scenarios/internal/english"
)

var _ = actions.RegisterAction("schedulers", SetSchedulers{}, actions.Drawn(actions.OfOperators, 4, 1, drawSchedulers))

// SetSchedulers sets num_schedulers on every server.
type SetSchedulers struct {
	PerServer int `lang:"required,max=1024"`
}

// EnablesSchedulers reports whether the servers have any afterwards.
func (a SetSchedulers) EnablesSchedulers() bool { return a.PerServer > 0 }

// On returns an error if a server of the target cannot have as many.
func (a SetSchedulers) On(t actions.Target) error {
	if t.MaxSchedulers > 0 && a.PerServer > t.MaxSchedulers {
		return fmt.Errorf("%s a server: %s takes %d at most, one for each core", english.Plural(a.PerServer, "scheduler"), t.Name, t.MaxSchedulers)
	}
	return nil
}

func (a SetSchedulers) Mark() string {
	if a.PerServer == 0 {
		return "schedulers off"
	}
	return fmt.Sprintf("schedulers on: %d a server", a.PerServer)
}

func (a SetSchedulers) Do(s *actions.Stage) error {
	return s.Cluster.SetSchedulers(a.PerServer)
}

func drawSchedulers(s *draw.Source) draw.Event {
	return draw.NewEvent("schedulers", fmt.Sprintf("per_server = %d", 1+s.Rand.IntN(4)))
}

// Every schedule of soak ends with a broker that goes on.
var (
	_ = actions.RegisterAction("pause_eval_broker", PauseEvalBroker{}, actions.Drawn(actions.OfOperators, 5, 1, func(*draw.Source) draw.Event {
		return draw.NewEvent("pause_eval_broker")
	}))
	_ = actions.RegisterAction("resume_eval_broker", ResumeEvalBroker{}, actions.Drawn(actions.OfOperators, 6, 1, func(*draw.Source) draw.Event {
		return draw.NewEvent("resume_eval_broker")
	}))
)

// PauseEvalBroker stops the leader's broker, ResumeEvalBroker lets it go on: what
// pause_eval_broker in the scheduler configuration does.
type (
	PauseEvalBroker struct {
		request
		actions.Anywhere
	}
	ResumeEvalBroker struct {
		request
		actions.Anywhere
	}
)

func (PauseEvalBroker) Mark() string              { return "broker paused" }
func (PauseEvalBroker) Do(s *actions.Stage) error { return s.Cluster.PauseEvalBroker(s.Ctx, true) }

func (ResumeEvalBroker) Mark() string              { return "broker resumed" }
func (ResumeEvalBroker) Do(s *actions.Stage) error { return s.Cluster.PauseEvalBroker(s.Ctx, false) }

var _ = actions.RegisterAction("collect_garbage", CollectGarbage{}, actions.Drawn(actions.OfOperators, 7, 1, drawCollectGarbage).Unless(
	// Whether it collects a node, and with it the node's drain or eligibility, depends on the exact moment.
	func(_ draw.Event, _, all []draw.Event) bool {
		return draw.Has(all, "drain_nodes") || draw.Has(all, "set_eligibility")
	}))

// CollectGarbage makes the cluster delete everything that is over, however new.
type CollectGarbage struct{ request }

func (CollectGarbage) Mark() string              { return "garbage is collected" }
func (CollectGarbage) Do(s *actions.Stage) error { return s.Cluster.CollectGarbage(s.Ctx) }

// On returns an error if the garbage of others would go, too.
func (CollectGarbage) On(t actions.Target) error {
	if t.Foreign {
		return errOfOthers
	}
	return nil
}

func drawCollectGarbage(s *draw.Source) draw.Event {
	if !s.Collects {
		return drawNodeEvents(s)
	}
	return draw.NewEvent("collect_garbage")
}
