package script

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/simctl/simctl/broker"
)

// Env is a broker under a script. Create it with New.
type Env struct {
	policy broker.Policy
	start  time.Time
	now    time.Time
	b      *broker.EvalBroker

	types   []string // scheduler types seen, in order
	created uint64   // the last CreateIndex given
	tokens  map[string]string
	aliases map[string]string
	latest  map[string]string // evaluation ID to its latest token
}

// New returns an environment with an enabled broker of default configuration.
func New(p broker.Policy) *Env {
	e := &Env{policy: p, start: time.Unix(0, 0).UTC()}
	e.reset(broker.Config{}, 1)
	return e
}

func (e *Env) reset(cfg broker.Config, seed uint64) {
	cfg.Policy = e.policy
	cfg.Rand = rand.New(rand.NewPCG(seed, 0))
	e.now, e.created, e.types = e.start, 0, nil
	e.tokens, e.aliases, e.latest = map[string]string{}, map[string]string{}, map[string]string{}
	e.b = broker.New(cfg)
	e.b.SetEnabled(e.now, true)
}

// Exec runs one command with the lines of input that follow it, and returns its output. The
// output starts with "bad script" if the command is not understood, and ends with a line
// that starts with "invariant broken" if the broker's state is not valid after it.
func (e *Env) Exec(line, input string) string {
	name, args, err := parse(line)
	if err != nil {
		return fmt.Sprintf("bad script: %v", err)
	}
	run, ok := commands[name]
	if !ok {
		return fmt.Sprintf("bad script: unknown command %q", name)
	}
	out := run(e, args, input)
	if err := args.finish(); err != nil {
		return fmt.Sprintf("bad script: %s: %v", name, err)
	}
	st := e.b.State()
	if err := st.Check(); err != nil {
		out += fmt.Sprintf("\ninvariant broken: %v", err)
	}
	return out
}

var commands = map[string]func(e *Env, a *args, input string) string{
	"config":        (*Env).config,
	"enable":        func(e *Env, _ *args, _ string) string { e.b.SetEnabled(e.now, true); return "enabled" },
	"disable":       func(e *Env, _ *args, _ string) string { e.b.SetEnabled(e.now, false); return "disabled" },
	"enqueue":       (*Env).enqueue,
	"enqueue-all":   (*Env).enqueueAll,
	"enqueue-many":  (*Env).enqueueMany,
	"dequeue":       (*Env).dequeue,
	"drain":         (*Env).drain,
	"ack":           (*Env).ack,
	"nack":          onDelivery((*broker.EvalBroker).Nack),
	"reset":         onDelivery((*broker.EvalBroker).OutstandingReset),
	"pause":         onDelivery((*broker.EvalBroker).PauseNackTimeout),
	"resume":        onDelivery((*broker.EvalBroker).ResumeNackTimeout),
	"outstanding":   (*Env).outstanding,
	"drop-waiting":  (*Env).dropWaiting,
	"cancelable":    (*Env).cancelable,
	"advance":       (*Env).advance,
	"elapse":        func(e *Env, a *args, _ string) string { return e.elapse(a.duration("by")) },
	"next-deadline": (*Env).nextDeadline,
	"stats":         func(e *Env, _ *args, _ string) string { return e.statsText() },
	"state":         func(e *Env, _ *args, _ string) string { return e.stateText() },
}

func (e *Env) config(a *args, _ string) string {
	cfg := broker.Config{
		NackTimeout:         a.duration("nack-timeout"),
		InitialNackDelay:    a.duration("initial-delay"),
		SubsequentNackDelay: a.duration("subsequent-delay"),
		DeliveryLimit:       int(a.number("delivery-limit", 0)),
	}
	e.reset(cfg, uint64(a.number("seed", 1)))
	return "ok"
}

// evaluation reads one from arguments.
func (e *Env) evaluation(a *args, id string) broker.EvalToken {
	ev := &broker.Evaluation{
		ID:          id,
		Namespace:   a.text("namespace", "default"),
		JobID:       a.text("job", "j"),
		Type:        a.text("type", "service"),
		Priority:    int(a.number("priority", 50)),
		Status:      broker.StatusPending,
		CreateIndex: uint64(a.number("create", int64(e.created+1))),
		Wait:        a.duration("wait"),
	}
	e.created = max(e.created, ev.CreateIndex)
	ev.ModifyIndex = uint64(a.number("modify", int64(ev.CreateIndex)))
	if a.flag("wait-until") {
		ev.WaitUntil = e.start.Add(a.duration("wait-until"))
	}
	if !slices.Contains(e.types, ev.Type) {
		e.types = append(e.types, ev.Type)
	}
	return broker.EvalToken{Eval: ev, Token: e.token(a)}
}

func (e *Env) enqueue(a *args, _ string) string {
	et := e.evaluation(a, a.text("id", ""))
	e.b.EnqueueAll(e.now, []broker.EvalToken{et})
	return e.placeOf(et.Eval)
}

func (e *Env) enqueueAll(a *args, input string) string {
	var all []broker.EvalToken
	for line := range strings.Lines(input) {
		_, each, err := parse("enqueue " + line)
		if err == nil {
			all = append(all, e.evaluation(each, each.text("id", "")))
			err = each.finish()
		}
		if err != nil {
			a.err = err
			return ""
		}
	}
	e.b.EnqueueAll(e.now, all)
	var out []string
	for _, et := range all {
		out = append(out, et.Eval.ID+" "+e.placeOf(et.Eval))
	}
	return strings.Join(out, "\n")
}

func (e *Env) enqueueMany(a *args, _ string) string {
	prefix, n := a.text("prefix", ""), a.number("n", 0)
	for i := range n {
		e.b.Enqueue(e.now, e.evaluation(a, fmt.Sprintf("%s%d", prefix, i+1)).Eval)
	}
	return fmt.Sprintf("%d enqueued", n)
}

func (e *Env) deliver(types []string) (broker.Delivery, error) {
	d, err := e.b.Deliver(e.now, types)
	if err == nil && d.Eval != nil {
		alias := fmt.Sprintf("t%d", len(e.tokens)+1)
		e.tokens[alias], e.aliases[d.Token], e.latest[d.Eval.ID] = d.Token, alias, d.Token
	}
	return d, err
}

func (e *Env) dequeue(a *args, _ string) string {
	d, err := e.deliver(a.list("types", e.types))
	switch {
	case err != nil:
		return e.errorText(err)
	case d.Eval == nil:
		return "nothing ready"
	}
	out := fmt.Sprintf("%s token %s", d.Eval.ID, e.aliases[d.Token])
	if d.Attempt > 1 {
		out += fmt.Sprintf(", attempt %d", d.Attempt)
	}
	if d.Waited > 0 {
		out += fmt.Sprintf(", waited %v", d.Waited)
	}
	if !d.Timed {
		out += ", not timed"
	}
	return out
}

func (e *Env) ack(a *args, _ string) string {
	id, token := e.delivery(a)
	res, err := e.b.Ack(e.now, id, token)
	if err != nil {
		return e.errorText(err)
	}
	return ackText(res)
}

// drain dequeues and acks all that is ready. It prints each evaluation, or only their number.
func (e *Env) drain(a *args, _ string) string {
	types, quiet := a.list("types", e.types), a.flag("quiet")
	var out []string
	n, untimed := 0, 0
	for {
		d, err := e.deliver(types)
		if err != nil {
			return e.errorText(err)
		}
		if d.Eval == nil {
			break
		}
		res, err := e.b.Ack(e.now, d.Eval.ID, d.Token)
		if err != nil {
			return e.errorText(err)
		}
		n++
		if !d.Timed {
			untimed++
		}
		out = append(out, d.Eval.ID+" "+ackText(res))
	}
	if quiet {
		out = nil
	}
	total := fmt.Sprintf("%d processed", n)
	if untimed > 0 {
		total += fmt.Sprintf(", %d of them not timed", untimed)
	}
	return strings.Join(append(out, total), "\n")
}

// onDelivery returns a command that calls a method of the broker for one delivery.
func onDelivery(do func(b *broker.EvalBroker, now time.Time, id, token string) error) func(*Env, *args, string) string {
	return func(e *Env, a *args, _ string) string {
		id, token := e.delivery(a)
		if err := do(e.b, e.now, id, token); err != nil {
			return e.errorText(err)
		}
		return "ok"
	}
}

func (e *Env) delivery(a *args) (id, token string) {
	id = a.text("id", "")
	if token = e.token(a); token == "" {
		token = e.latest[id]
	}
	return id, token
}

// token returns the token of that name, or the name itself if no token has it.
func (e *Env) token(a *args) string {
	name := a.text("token", "")
	if token, ok := e.tokens[name]; ok {
		return token
	}
	return name
}

func (e *Env) outstanding(a *args, _ string) string {
	token, ok := e.b.Outstanding(a.text("id", ""))
	if !ok {
		return "no"
	}
	return "token " + e.aliases[token]
}

func (e *Env) dropWaiting(a *args, _ string) string {
	if e.b.DropWaiting(a.text("id", "")) {
		return "dropped"
	}
	return "not waiting"
}

func (e *Env) cancelable(a *args, _ string) string {
	evals := e.b.Cancelable(int(a.number("batch", 728)))
	if len(evals) == 0 {
		return "none"
	}
	return names(evals)
}

func (e *Env) advance(a *args, _ string) string {
	out := e.elapse(a.duration("by"))
	if e.b.Advance(e.now) {
		out += ", timers fired"
	}
	return out
}

func (e *Env) elapse(by time.Duration) string {
	e.now = e.now.Add(by)
	return fmt.Sprintf("now %v", e.now.Sub(e.start))
}

func (e *Env) nextDeadline(*args, string) string {
	at, ok := e.b.NextDeadline()
	if !ok {
		return "none"
	}
	return fmt.Sprintf("at %v", at.Sub(e.start))
}
