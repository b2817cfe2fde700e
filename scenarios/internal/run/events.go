package run

import (
	"time"

	"github.com/simctl/simctl/scenarios/internal/agenda"
)

// events does a phase's events, and ends faults when they are due. It returns when no event is
// left, and no fault that ends by itself.
func (r *run) events(p Phase) error {
	ahead := agenda.New(&r.stage, r.sc.factor())
	for start, i := time.Now(), 0; i < len(p.Events); i++ {
		ahead.Add(start.Add(p.Events[i].At), p.Events[i].Action, nil)
	}
	for {
		due, ok := ahead.Next()
		if !ok {
			return nil
		}
		timer := time.NewTimer(time.Until(due))
		select {
		case <-timer.C:
		case <-r.stage.Ctx.Done():
			timer.Stop()
			return r.stage.Ctx.Err()
		}
		if err := ahead.Do(); err != nil {
			return err
		}
	}
}
