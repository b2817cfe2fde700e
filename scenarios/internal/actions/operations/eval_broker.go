package operations

import (
	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/draw"
)

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
	PauseEvalBroker  struct{ request }
	ResumeEvalBroker struct{ request }
)

func (PauseEvalBroker) Mark() string              { return "broker paused" }
func (PauseEvalBroker) Do(s *actions.Stage) error { return s.Cluster.PauseEvalBroker(s.Ctx, true) }

func (ResumeEvalBroker) Mark() string              { return "broker resumed" }
func (ResumeEvalBroker) Do(s *actions.Stage) error { return s.Cluster.PauseEvalBroker(s.Ctx, false) }
