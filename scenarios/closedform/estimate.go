package closedform

import (
	"math"

	"github.com/simctl/simctl/scenarios"
)

// Estimate is what the formulae say of one run.
type Estimate struct {
	Broker  string
	Servers int
	Nodes   float64
	Allocs  float64 // that run in the end
	// AllocsLost run on nodes that fall silent, and AllocsSeen is how often an evaluation of the
	// storm looks at an allocation of its service job.
	AllocsLost, AllocsSeen float64

	Inputs  []Input
	Figures []Figure
}

// Figure is the result of one formula.
type Figure struct {
	Path    string // as Result.Lookup takes it
	Formula string
	Value   float64
}

// Value returns the figure of that path; NaN if there is none.
func (e *Estimate) Value(path string) float64 {
	for _, f := range e.Figures {
		if f.Path == path {
			return f.Value
		}
	}
	return math.NaN()
}

// Of estimates a run of the heartbeat storm. The error says why it cannot: the Spec is
// invalid, or of another scenario, or of a broker without formulae.
func Of(spec scenarios.Spec) (*Estimate, error) {
	in, err := inputsOf(spec)
	if err != nil {
		return nil, err
	}
	e := &Estimate{Broker: spec.Broker, Servers: int(in.servers), Nodes: in.n, Allocs: in.n * (in.s + in.allocs), Inputs: in.list()}
	in.register(e)
	if in.shedding {
		in.drainShedding(e)
		in.stormShedding(e)
	} else {
		in.drainLegacy(e)
		in.stormLegacy(e)
	}
	e.AllocsLost = in.m * e.Allocs
	if in.a > 0 {
		e.AllocsSeen = e.Value("phases.storm.evals_processed") * in.a / (in.s + in.a) * in.n * in.allocs / in.j
	}
	return e, nil
}

func (e *Estimate) add(path, formula string, value float64) float64 {
	e.Figures = append(e.Figures, Figure{path, formula, value})
	return value
}

// register: a node registers and turns ready with an entry each. Turning ready makes an
// evaluation for each system job, all in one entry.
func (in *inputs) register(e *Estimate) {
	e.add("phases.register.evals_created", "N·S + K, K = S + J: one for each node and system job, one for each job", in.n*in.s+in.k)
	perNode, formula := 3.0, "K + 3·N: a node registers, turns ready, and leaves its evaluations"
	if in.s == 0 {
		perNode, formula = 2, "K + 2·N: a node registers and turns ready"
	}
	e.add("phases.register.raft_entries", formula, in.k+perNode*in.n)
}

// drainLegacy: each evaluation is processed by itself and writes its status. Only the first
// one of a job has something to plan.
func (in *inputs) drainLegacy(e *Estimate) {
	processed := e.add("phases.drain.evals_processed", "N·S + K: every one", in.n*in.s+in.k)
	e.add("phases.drain.evals_canceled", "0", 0)
	e.add("phases.drain.raft_entries", "processed + K + u: each its status, a plan for each job, and reports of clients", processed+in.k+in.reports)
	e.add("phases.drain.queue_empty_s", "P + processed/r", in.place+processed/in.rate)
	e.add("phases.drain.recovery_s", "as the queue: nothing is left to cancel", in.place+processed/in.rate)
}

// drainShedding: of each system job the first evaluation is processed, then the newest. All
// others are canceled.
func (in *inputs) drainShedding(e *Estimate) {
	processed := e.add("phases.drain.evals_processed", "2·S + J: the first and the newest of each system job", math.Min(2, 1+in.n)*in.s+in.j)
	canceled := e.add("phases.drain.evals_canceled", "N·S − S: the rest", in.n*in.s-in.s)
	batches := math.Ceil(canceled / in.batch)
	e.add("phases.drain.raft_entries", "processed + K + u + ⌈canceled/B⌉: statuses, plans, reports and cancels", processed+in.k+in.reports+batches)
	empty := e.add("phases.drain.queue_empty_s", "P + processed/r", in.place+processed/in.rate)
	ticks := math.Max(0, batches-processed)
	e.add("phases.drain.recovery_s", "queue empty + (⌈canceled/B⌉ − processed)·I: each ack brings a batch, the timer the others", empty+ticks*in.interval)
}

// expiry returns the evaluations of the storm, and the seconds in which heartbeats run out.
func (in *inputs) expiry(e *Estimate) (created, window float64) {
	created = e.add("phases.storm.evals_created", "m·N·(S + a): one for each silent node and job on it", math.Round(in.m*in.n)*(in.s+in.a))
	return created, 2*in.ttl + in.grace
}

// stormLegacy: as the drain, but a plan follows whenever another node has gone down since the
// job was last processed.
func (in *inputs) stormLegacy(e *Estimate) {
	created, window := in.expiry(e)
	e.add("phases.storm.evals_processed", "m·N·(S + a): every one", created)
	e.add("phases.storm.evals_canceled", "0", 0)
	plans := math.Min(created, in.stormRate*window)
	e.add("phases.storm.raft_entries", "2·m·N + processed + min(processed, q·W), W = 2·h + g: nodes down and their evaluations, statuses, and plans until the last node is down",
		2*in.m*in.n+created+plans)
	e.add("phases.storm.recovery_s", "max(W, processed/q)", math.Max(window, created/in.stormRate))
}

// stormShedding: workers process as fast as they can while nodes go down. Each ack sheds what
// has gathered meanwhile, and wakes the reaper.
func (in *inputs) stormShedding(e *Estimate) {
	created, window := in.expiry(e)
	processed := e.add("phases.storm.evals_processed", "min(m·N·(S + a), q·W), W = 2·h + g: as fast as workers go until the last node is down",
		math.Min(created, in.stormRate*window))
	canceled := e.add("phases.storm.evals_canceled", "the rest", created-processed)
	e.add("phases.storm.raft_entries", "2·m·N + 2·processed + min(processed, canceled): nodes down and their evaluations, statuses and plans, and a batch of cancels at each ack",
		2*in.m*in.n+2*processed+math.Min(processed, canceled))
	e.add("phases.storm.recovery_s", "W + K/q: every job once more after the last node is down", window+in.k/in.stormRate)
}
