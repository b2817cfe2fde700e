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
	defer r.asking.Store(nil)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		r.teller.underWay(&r.stage)
		var due <-chan time.Time
		at, ok := ahead.Next()
		if ok {
			timer.Reset(time.Until(at))
			due = timer.C
		}
		if mark, asks := ahead.Asking(); asks {
			r.asking.Store(&mark)
		} else if r.asking.Store(nil); !ok {
			return nil
		}
		var err error
		select {
		case <-r.stage.Ctx.Done():
			return r.stage.Ctx.Err()
		case got := <-ahead.Answers:
			err = ahead.Take(got)
		case <-due:
			err = ahead.Do()
		}
		if err != nil {
			return err
		}
	}
}
