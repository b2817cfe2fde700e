package broker_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/simctl/simctl/broker"
)

// chooser decides what a driver does next, by rapid's draws or a fuzzer's bytes.
type chooser interface {
	// Choose returns a number in [0, n).
	Choose(n int) int
}

// driver sends the same operations to a broker and to the oracle. It compares their answer
// to each and their state after it.
type driver struct {
	choices chooser
	now     time.Time
	b       *broker.EvalBroker
	o       *oracle
	seed    uint64
	tokens  []string
	log     []string // the operations so far, one a line
}

// newDriver returns a driver for a broker and an oracle of one policy, whose configuration
// it draws from choices. The oracle knows no quirk but DedupLeak.
func newDriver(p broker.Policy, choices chooser) *driver {
	delays := []time.Duration{-1, time.Second, 20 * time.Second}
	cfg := broker.Config{
		Policy:              p,
		NackTimeout:         60 * time.Second,
		InitialNackDelay:    delays[choices.Choose(3)],
		SubsequentNackDelay: delays[choices.Choose(3)],
		DeliveryLimit:       1 + choices.Choose(4),
	}
	d := &driver{choices: choices, now: time.Unix(1000, 0), o: newOracle(cfg)}
	cfg.Rand = d.rand()
	d.b = broker.New(cfg)
	d.b.SetEnabled(d.now, true)
	d.o.setEnabled(true)
	d.logf("%s, delays %v and %v, limit %d", p, cfg.InitialNackDelay, cfg.SubsequentNackDelay, cfg.DeliveryLimit)
	return d
}

// rand returns another source each time, so that no clone repeats a token.
func (d *driver) rand() *rand.Rand {
	d.seed++
	return rand.New(rand.NewPCG(1, d.seed))
}

func (d *driver) logf(format string, args ...any) {
	d.log = append(d.log, fmt.Sprintf(format, args...))
}

// step does one operation; the error is the first difference.
func (d *driver) step() error {
	steps := []struct {
		weight int
		do     func() error
	}{
		// Rapid prefers small numbers, which these first steps make an eventful history of.
		{1, d.enqueue}, {1, d.dequeue}, {1, d.ack}, {1, d.cancelable},
		{7, d.enqueue}, {2, d.enqueueAll}, {6, d.dequeue}, {5, d.ack}, {2, d.nack}, {3, d.timers},
		{4, d.pass}, {2, d.cancelable}, {1, d.dropWaiting}, {1, d.setEnabled}, {1, d.clone}, {1, d.burst}, {3, d.drain},
	}
	total := 0
	for _, s := range steps {
		total += s.weight
	}
	pick := d.choices.Choose(total)
	for _, s := range steps {
		if pick -= s.weight; pick < 0 {
			if err := s.do(); err != nil {
				return err
			}
			break
		}
	}
	return d.compare()
}

// evaluation draws an evaluation. It has one of twelve IDs, which determines its job.
func (d *driver) evaluation() *broker.Evaluation {
	n := d.choices.Choose(12)
	e := &broker.Evaluation{
		ID:        fmt.Sprintf("e%d", n),
		Namespace: []string{"default", "prod"}[n%2],
		JobID:     fmt.Sprintf("j%d", n%4/2),
		Type:      []string{"service", "batch", "system"}[d.choices.Choose(3)],
		Priority:  50 + d.choices.Choose(3),
	}
	e.CreateIndex = uint64(d.choices.Choose(6))
	e.ModifyIndex = uint64(d.choices.Choose(4))
	switch d.choices.Choose(8) {
	case 0:
		e.Wait = time.Duration(1+d.choices.Choose(3)) * time.Second
	case 1:
		e.WaitUntil = d.now.Add(time.Duration(d.choices.Choose(5)-1) * time.Second)
	}
	return e
}

// token draws a token: none, one that never was, or one that was given out.
func (d *driver) token() string {
	i := d.choices.Choose(len(d.tokens) + 2)
	switch i {
	case 0:
		return ""
	case 1:
		return "wrong"
	}
	return d.tokens[len(d.tokens)-i+1]
}

// delivery draws an evaluation and mostly its token.
func (d *driver) delivery() (id, token string) {
	id = fmt.Sprintf("e%d", d.choices.Choose(12))
	if out := d.b.State().Unacked; len(out) > 0 && d.choices.Choose(4) < 3 {
		id = out[d.choices.Choose(len(out))].Eval.ID
	}
	if token, ok := d.b.Outstanding(id); ok && d.choices.Choose(6) < 5 {
		return id, token
	}
	return id, d.token()
}

func (d *driver) enqueue() error {
	e := d.evaluation()
	d.logf("enqueue %s", brief(e))
	d.b.Enqueue(d.now, e)
	d.o.enqueue(d.now, e, "")
	return nil
}

func (d *driver) enqueueAll() error {
	var all []broker.EvalToken
	for range 1 + d.choices.Choose(3) {
		et := broker.EvalToken{Eval: d.evaluation()}
		if token, ok := d.b.Outstanding(et.Eval.ID); ok && d.choices.Choose(3) < 2 {
			et.Token = token
		} else {
			et.Token = d.token()
		}
		d.logf("enqueue all, token %q: %s", et.Token, brief(et.Eval))
		all = append(all, et)
	}
	d.b.EnqueueAll(d.now, all)
	for _, et := range all {
		d.o.enqueue(d.now, et.Eval, et.Token)
	}
	return nil
}

func (d *driver) dequeue() error {
	lists := [][]string{
		{"service", "batch", "system"}, {"service"}, {"batch", "system"}, {broker.FailedQueue},
		{"system", broker.FailedQueue, "none"}, {"batch", "batch"}, nil,
	}
	return d.dequeueFrom(lists[d.choices.Choose(len(lists))])
}

func (d *driver) dequeueFrom(schedulers []string) error {
	got, err := d.b.Deliver(d.now, schedulers)
	d.logf("dequeue %v: %s %q %v", schedulers, brief(got.Eval), got.Token, err)
	if !d.o.enabled || err != nil {
		return differ("dequeue", err, map[bool]error{false: broker.ErrDisabled}[d.o.enabled])
	}
	heads := d.o.heads(schedulers)
	if got.Eval == nil {
		if len(heads) > 0 {
			return fmt.Errorf("dequeue found nothing, but %q is ready", heads[0].ID)
		}
		return nil
	}
	if !slices.Contains(heads, got.Eval) {
		return fmt.Errorf("dequeue took %q, which is not among the %d heads", got.Eval.ID, len(heads))
	}
	if slices.Contains(d.tokens, got.Token) {
		return fmt.Errorf("token %q was given out before", got.Token)
	}
	d.tokens = append(d.tokens, got.Token)
	if want := d.o.took(d.now, got.Eval.ID, got.Token); got != want {
		return fmt.Errorf("dequeue: broker %+v, oracle %+v", got, want)
	}
	return nil
}

func (d *driver) ack() error { return d.ackOne(d.delivery()) }

func (d *driver) ackOne(id, token string) error {
	got, err := d.b.Ack(d.now, id, token)
	d.logf("ack %q %q: shed %d, next %s, %v", id, token, got.Shed, brief(got.Next), err)
	want, wantErr := d.o.ack(d.now, id, token)
	if got != want {
		return fmt.Errorf("ack: broker %+v, oracle %+v", got, want)
	}
	return differ("ack", err, wantErr)
}

// drain dequeues and acks one evaluation after the other.
func (d *driver) drain() error {
	for range 10 + 10*d.choices.Choose(8) {
		if err := d.dequeueFrom([]string{"service"}); err != nil {
			return err
		}
		out := d.b.State().Unacked
		if len(out) == 0 {
			return nil
		}
		if err := d.ackOne(out[0].Eval.ID, out[0].Token); err != nil {
			return err
		}
	}
	return nil
}

func (d *driver) nack() error {
	id, token := d.delivery()
	d.logf("nack %q %q", id, token)
	return differ("nack", d.b.Nack(d.now, id, token), d.o.nack(d.now, id, token))
}

func (d *driver) timers() error {
	id, token := d.delivery()
	switch d.choices.Choose(3) {
	case 0:
		d.logf("reset %q %q", id, token)
		return differ("reset", d.b.OutstandingReset(d.now, id, token), d.o.reset(d.now, id, token))
	case 1:
		d.logf("pause %q %q", id, token)
		return differ("pause", d.b.PauseNackTimeout(d.now, id, token), d.o.pause(d.now, id, token))
	}
	d.logf("resume %q %q", id, token)
	return differ("resume", d.b.ResumeNackTimeout(d.now, id, token), d.o.resume(d.now, id, token))
}

// pass lets time pass, and fires what is due unless it draws to be late.
func (d *driver) pass() error {
	steps := []time.Duration{time.Millisecond, time.Second, 19 * time.Second, 20 * time.Second, 59 * time.Second, time.Hour}
	d.now = d.now.Add(steps[d.choices.Choose(len(steps))])
	late := d.choices.Choose(4) == 3
	d.logf("now %v, late %v", d.now, late)
	if late {
		return nil
	}
	if got, want := d.b.Advance(d.now), d.o.advance(d.now); got != want {
		return fmt.Errorf("advance fired: broker %v, oracle %v", got, want)
	}
	return nil
}

// burst enqueues many evaluations of one job in one of several orders, so that acks sort
// many and enqueues go among many that are sorted.
func (d *driver) burst() error {
	job, order := d.choices.Choose(2), d.choices.Choose(3)
	n := 60 + 20*d.choices.Choose(4)
	d.logf("burst of %d in job j%d, order %d", n, job, order)
	for i := range n {
		index := []int{i, n - i, i * 7919 % n}[order]
		e := &broker.Evaluation{
			ID: fmt.Sprintf("b%d-%d", job, i), Namespace: "default", JobID: fmt.Sprintf("j%d", job), Type: "service",
			Priority: 50, CreateIndex: uint64(index), ModifyIndex: uint64(index),
		}
		d.b.Enqueue(d.now, e)
		d.o.enqueue(d.now, e, "")
	}
	return nil
}

// cancelable takes a batch from the broker and the same evaluations from the oracle.
func (d *driver) cancelable() error {
	batch := []int{1, 2, 3, 50, 100, 1000, 0, -1}[d.choices.Choose(8)]
	got := d.b.Cancelable(batch)
	d.logf("cancelable %d: %d", batch, len(got))
	if want := max(0, min(batch, len(d.o.cancelable))); len(got) != want {
		return fmt.Errorf("cancelable(%d): broker gave %d, oracle %d", batch, len(got), want)
	}
	for _, e := range got {
		if !d.o.take(e) {
			return fmt.Errorf("cancelable: the broker gave %q, which is not cancelable", e.ID)
		}
	}
	return nil
}

func (d *driver) dropWaiting() error {
	id := fmt.Sprintf("e%d", d.choices.Choose(12))
	d.logf("drop waiting %q", id)
	if got, want := d.b.DropWaiting(id), d.o.dropWaiting(id); got != want {
		return fmt.Errorf("drop waiting %q: broker %v, oracle %v", id, got, want)
	}
	return nil
}

func (d *driver) setEnabled() error {
	enabled := d.choices.Choose(3) < 2
	d.logf("set enabled %v", enabled)
	d.b.SetEnabled(d.now, enabled)
	d.o.setEnabled(enabled)
	return nil
}

// clone verifies that operations on a copy do not change the original, and goes on with
// another copy.
func (d *driver) clone() error {
	d.logf("clone")
	original := d.b
	d.b = clone(original, d.rand())
	before := original.State()
	spoiled := clone(original, d.rand())
	spoiled.Enqueue(d.now, &broker.Evaluation{ID: "spoiler", Namespace: "default", JobID: "j0", Type: "service"})
	for i, h := range before.Unacked {
		if i%2 == 0 {
			_, _ = spoiled.Ack(d.now, h.Eval.ID, h.Token)
		} else {
			_ = spoiled.Nack(d.now, h.Eval.ID, h.Token)
		}
	}
	spoiled.Advance(d.now.Add(time.Hour))
	if d.choices.Choose(2) == 0 {
		spoiled.SetEnabled(d.now, false)
	}
	if after := original.State(); !same(before, after) {
		return fmt.Errorf("a clone's operations changed the original:\nbefore %s\nafter %s", describe(before), describe(after))
	}
	if d.choices.Choose(2) == 0 {
		d.b.CloneInto(spoiled, d.rand())
		d.b = spoiled
	}
	return nil
}
