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
	Silent  float64 // share of the nodes that fall silent
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
	Value   float64 // the sum of the parts
	Parts   []Part
}

// Part is a term of a formula.
type Part struct {
	For   string // what it goes into, as "of which 12 s" continues
	Value float64
}

// Value returns the figure of that path; NaN if there is none.
func (e *Estimate) Value(path string) float64 { return e.figure(path).Value }

func (e *Estimate) figure(path string) Figure {
	for _, f := range e.Figures {
		if f.Path == path {
			return f
		}
	}
	return Figure{Path: path, Value: math.NaN()}
}

// Of estimates a run of the heartbeat storm. The error says why it cannot: the Spec is
// invalid, or of another scenario, or of a broker without formulae.
func Of(spec scenarios.Spec) (*Estimate, error) {
	in, err := inputsOf(spec)
	if err != nil {
		return nil, err
	}
	e := &Estimate{Broker: spec.Broker, Servers: int(in.servers), Nodes: in.n, Silent: in.m, Allocs: in.n * (in.s + in.allocs), Inputs: in.list()}
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

func (e *Estimate) add(path, formula string, parts ...Part) float64 {
	value := 0.0
	for _, p := range parts {
		value += p.Value
	}
	e.Figures = append(e.Figures, Figure{path, formula, value, parts})
	return value
}

// Parts that several formulae have.
func (in *inputs) placing() Part {
	return Part{"to place every allocation, one plan after the other", in.place}
}

func (in *inputs) processing(evals float64) Part {
	return Part{"to process evaluations " + in.rateBound, evals / in.rate}
}

func (in *inputs) ofJobs() Part { return Part{"for the jobs themselves", in.k} }

func statuses(processed float64) Part { return Part{"for the status of each evaluation", processed} }

func (in *inputs) reported() Part { return Part{"for what clients report", in.reports} }

func (in *inputs) planned() Part { return Part{"for the first plan of each job", in.k} }

func (in *inputs) down() Part {
	return Part{"for nodes that go down and their evaluations", 2 * in.m * in.n}
}

func noticing(window float64) Part {
	return Part{"until the last silent node is noticed, W = 2·h + g", window}
}

// register: a node registers and turns ready with an entry each. Turning ready makes an
// evaluation for each system job, all in one entry.
func (in *inputs) register(e *Estimate) {
	e.add("phases.register.evals_created", "N·S + K, K = S + J: one for each node and system job, one for each job",
		Part{"for system jobs on nodes that turn ready", in.n * in.s}, in.ofJobs())
	perNode, formula := 3.0, "K + 3·N: a node registers, turns ready, and leaves its evaluations"
	if in.s == 0 {
		perNode, formula = 2, "K + 2·N: a node registers and turns ready"
	}
	e.add("phases.register.raft_entries", formula, in.ofJobs(), Part{"for nodes that register and turn ready", perNode * in.n})
}

// drainLegacy: each evaluation is processed by itself and writes its status. Only the first
// one of a job has something to plan.
func (in *inputs) drainLegacy(e *Estimate) {
	processed := e.add("phases.drain.evals_processed", "N·S + K: every one",
		Part{"for system jobs, once for each node", in.n * in.s}, in.ofJobs())
	e.add("phases.drain.evals_canceled", "0")
	e.add("phases.drain.raft_entries", "processed + K + u: each its status, a plan for each job, and reports of clients",
		statuses(processed), in.planned(), in.reported())
	e.add("phases.drain.queue_empty_s", "P + processed/r", in.placing(), in.processing(processed))
	e.add("phases.drain.recovery_s", "as the queue: nothing is left to cancel", in.placing(), in.processing(processed))
}

// drainShedding: of each system job the first evaluation is processed, then the newest. All
// others are canceled.
func (in *inputs) drainShedding(e *Estimate) {
	processed := e.add("phases.drain.evals_processed", "2·S + J: the first and the newest of each system job",
		Part{"for the first and the newest of each system job", math.Min(2, 1+in.n) * in.s}, Part{"for service jobs", in.j})
	canceled := e.add("phases.drain.evals_canceled", "N·S − S: the rest", Part{"for older evaluations of system jobs", in.n*in.s - in.s})
	batches := math.Ceil(canceled / in.batch)
	e.add("phases.drain.raft_entries", "processed + K + u + ⌈canceled/B⌉: statuses, plans, reports and cancels",
		statuses(processed), in.planned(), in.reported(), Part{"for cancels", batches})
	e.add("phases.drain.queue_empty_s", "P + processed/r", in.placing(), in.processing(processed))
	e.add("phases.drain.recovery_s", "queue empty + (⌈canceled/B⌉ − processed)·I: each ack brings a batch, the timer the others",
		in.placing(), in.processing(processed),
		Part{"until the reaper has canceled the rest, a batch of B at each tick of its timer", math.Max(0, batches-processed) * in.interval})
}

// expiry returns the evaluations of the storm, and the seconds in which heartbeats run out.
func (in *inputs) expiry(e *Estimate) (created, window float64) {
	created = e.add("phases.storm.evals_created", "m·N·(S + a): one for each silent node and job on it",
		Part{"for jobs on silent nodes", math.Round(in.m*in.n) * (in.s + in.a)})
	return created, 2*in.ttl + in.grace
}

// stormLegacy: as the drain, but a plan follows whenever another node has gone down since the
// job was last processed.
func (in *inputs) stormLegacy(e *Estimate) {
	created, window := in.expiry(e)
	e.add("phases.storm.evals_processed", "m·N·(S + a): every one", Part{"for jobs on silent nodes", created})
	e.add("phases.storm.evals_canceled", "0")
	e.add("phases.storm.raft_entries", "2·m·N + processed + min(processed, q·W), W = 2·h + g: nodes down and their evaluations, statuses, and plans until the last node is down",
		in.down(), statuses(created), Part{"for plans", math.Min(created, in.stormRate*window)})
	longest := noticing(window)
	if t := created / in.stormRate; t > window {
		longest = Part{"to process evaluations " + in.stormBound, t}
	}
	e.add("phases.storm.recovery_s", "max(W, processed/q)", longest)
}

// stormShedding: workers process as fast as they can while nodes go down. Each ack sheds what
// has gathered meanwhile, and wakes the reaper.
func (in *inputs) stormShedding(e *Estimate) {
	created, window := in.expiry(e)
	processed := e.add("phases.storm.evals_processed", "min(m·N·(S + a), q·W), W = 2·h + g: as fast as workers go until the last node is down",
		Part{"for what workers process until the last node is down", math.Min(created, in.stormRate*window)})
	canceled := e.add("phases.storm.evals_canceled", "the rest", Part{"for what workers leave", created - processed})
	e.add("phases.storm.raft_entries", "2·m·N + 2·processed + min(processed, canceled): nodes down and their evaluations, statuses and plans, and a batch of cancels at each ack",
		in.down(), Part{"for statuses and plans", 2 * processed}, Part{"for cancels", math.Min(processed, canceled)})
	e.add("phases.storm.recovery_s", "W + K/q: every job once more after the last node is down",
		noticing(window), Part{"to process every job once more " + in.stormBound, in.k / in.stormRate})
}
