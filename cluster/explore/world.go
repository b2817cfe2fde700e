package explore

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/cluster/internal/leader"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/scheduler"
	"github.com/simctl/simctl/cluster/state"
)

// Times of the modelled system. The delay is far longer than the timeout, so that the search can
// fire the one without the other.
const (
	nackTimeout     = time.Minute
	redeliveryDelay = time.Hour
)

// Both nodes suit both jobs, and each fits best on the small one. If that has room for one
// allocation, plans made on one state contradict each other.
const (
	smallNode = "small"
	largeNode = "large"
)

var jobNames = []string{"a", "b"}

// types gives each job another scheduler type, and so a ready queue of its own. Then the search decides which
// job's evaluation a worker gets, and not the order of a queue.
var types = []string{rpc.JobTypeService, rpc.JobTypeBatch}

// phase is what a worker is about to do, or waits for.
type phase uint8

const (
	idle     phase = iota
	inLine         // it has asked for an evaluation and waits
	answered       // it was given one and has not heard yet
	holding        // it has to plan
	planned        // it has to submit its plan
	submitted
	planning // over: it has to write the outcome
	written  // it has to ack
)

// worker is one worker. A scheduler cannot be copied, so it is made anew from the attempts so far
// whenever it is needed.
type worker struct {
	phase    phase
	eval     *broker.Evaluation
	token    string
	min      uint64 // the next state that it plans on must include this index
	seed     uint64
	attempts []attempt
	plan     *scheduler.Plan
}

type attempt struct {
	snap   uint64
	result *scheduler.PlanResult // nil: the plan, if there was one, is not answered yet
}

// stage is how far a plan has come.
type stage uint8

const (
	queued stage = iota
	inHand       // verified, while the one before it is on its way to the log
	sent
	ended
)

// submission is a plan that was submitted, and the call that waits for its answer.
type submission struct {
	worker int // -1: nobody hears the answer
	plan   *scheduler.Plan
	stage  stage
	result *scheduler.PlanResult
	entry  []byte // once it is sent
	// refused: its worker was told that it failed, although it is sent.
	refused bool
}

// jobState has the indexes that say whether the job is owed a scheduling run.
type jobState struct {
	evals   int
	newest  uint64 // of the latest trigger
	covered uint64 // the newest state that a finished run has seen
}

// world is one state of the modelled system: the log and the states that it has led to, the
// leader's broker, line, plan queue and applier, and the workers. There is one state for all servers: a
// worker whose server is behind is a worker that plans on an older one.
type world struct {
	sys     *system
	snaps   []*state.Snapshot // by index
	history uint64            // a hash of all entries
	b       *broker.EvalBroker
	line    leader.Line[int] // of workers
	base    leader.PlanBase
	based   string // stands for base in key: the index of its state, and the plans that it takes for applied
	now     time.Time
	jobs    []jobState
	workers []worker
	subs    []submission // in the order in which they were submitted

	owed       bool     // the node is down, and the evaluations for that are still to be written
	orphans    []string // tokens of deliveries whose workers have lost their calls
	deliveries uint64

	registered, triggers, downs, timeouts, failovers, lost, sooner int // left

	view broker.State // filled by observe
}

func newWorld(s *system) *world {
	b := s.bounds
	w := &world{
		sys: s, snaps: []*state.Snapshot{state.New().Snapshot()}, now: time.Unix(0, 0).UTC(),
		jobs: make([]jobState, b.Jobs), workers: make([]worker, b.Workers), base: b.planBase(),
		triggers: b.Triggers, downs: b.Downs, timeouts: b.Timeouts, failovers: b.Failovers, lost: b.Lost, sooner: b.Sooner,
		b: broker.New(broker.Config{
			Policy: s.policy, Rand: s.rand, DeliveryLimit: 100,
			NackTimeout: nackTimeout, InitialNackDelay: redeliveryDelay, SubsequentNackDelay: redeliveryDelay,
		}),
	}
	w.b.SetEnabled(w.now, true)
	w.register(smallNode, b.Room)
	w.register(largeNode, b.Room+2*b.Jobs)
	return w
}

// oneAlloc is what an allocation takes of a node.
var oneAlloc = rpc.Resources{CPUMHz: 10, MemoryMB: 10, DiskMB: 10}

func (w *world) register(node string, allocs int) {
	r := oneAlloc
	r.CPUMHz, r.MemoryMB, r.DiskMB = r.CPUMHz*allocs, r.MemoryMB*allocs, r.DiskMB*allocs
	w.write("register "+node, fsm.NodeRegister.With(&rpc.NodeRegisterRequest{Node: &rpc.Node{
		ID: node, Name: node, Datacenter: "dc1", Resources: r, Status: rpc.NodeStatusReady, SchedulingEligibility: rpc.NodeEligible,
	}}))
}

// clone returns an independent copy.
func (w *world) clone() *world {
	c := new(*w)
	c.b = new(broker.EvalBroker)
	w.b.CloneInto(c.b, w.sys.rand)
	c.line = w.line.Clone()
	c.jobs, c.workers, c.subs = slices.Clone(w.jobs), slices.Clone(w.workers), slices.Clone(w.subs)
	c.snaps, c.orphans = slices.Clip(w.snaps), slices.Clip(w.orphans)
	c.view = broker.State{}
	return c
}

func (w *world) latest() *state.Snapshot { return w.snaps[len(w.snaps)-1] }

// write appends an entry to the log and applies it. What is on its way to the log comes before.
func (w *world) write(text string, c fsm.Command) {
	w.landAll()
	w.insert(text, c)
}

// insert applies an entry that comes before those on their way.
func (w *world) insert(text string, c fsm.Command) {
	data, err := c.Encode()
	if err != nil {
		panic(fmt.Sprintf("explore: %v", err)) // a bug in this program
	}
	w.apply(text, data)
}

// apply applies an entry as the next of the log. What users of the state share with the request
// must not be written to, so the entry is read as any server reads it.
func (w *world) apply(text string, data []byte) {
	c, err := fsm.Decode(data)
	if err != nil {
		panic(fmt.Sprintf("explore: %v", err)) // a bug in this program
	}
	store := state.New()
	store.Adopt(w.latest())
	fx, err := c.Apply(store, uint64(len(w.snaps)))
	if err != nil {
		panic(fmt.Sprintf("explore: apply %s: %v", text, err)) // likewise
	}
	w.snaps = append(w.snaps, store.Snapshot())
	w.history = mix(w.history, text)
	for _, e := range fx.Evals {
		if e.ShouldEnqueue() {
			w.b.Enqueue(w.now, e)
		}
	}
	w.serve()
}

func mix(seed uint64, texts ...string) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, seed, texts)
	return h.Sum64()
}

// newEval returns a pending evaluation of a job.
func (w *world) newEval(job int, trigger string) *broker.Evaluation {
	w.jobs[job].evals++
	return &broker.Evaluation{
		ID: fmt.Sprintf("%s%d", jobNames[job], w.jobs[job].evals), Namespace: "default", JobID: jobNames[job], Type: types[job],
		Priority: 50, TriggeredBy: trigger, Status: broker.StatusPending,
	}
}

// serve answers the workers in line, as every call of the service does at its end.
func (w *world) serve() {
	w.line.Serve(w.b, w.now, func(i int, d broker.Delivery, err error) {
		if err != nil {
			w.workers[i] = worker{}
			return
		}
		w.deliver(i, d)
		w.workers[i].phase = answered
	})
}

// deliver hands an evaluation to a worker.
func (w *world) deliver(i int, d broker.Delivery) {
	w.deliveries++
	w.workers[i] = worker{
		phase: holding, eval: d.Eval, token: d.Token, min: w.sys.seams.waitIndex(w.latest(), d.Eval),
		seed: mix(w.history, fmt.Sprint(i, w.deliveries)),
	}
}

// scheduler returns the worker's scheduler as it is after the attempts so far, and the last of
// them.
func (w *world) scheduler(wk *worker) (s *scheduler.Scheduler, last scheduler.Attempt, again bool) {
	s, err := scheduler.New(wk.eval, nil, rand.New(rand.NewPCG(wk.seed, 0)))
	if err != nil {
		panic(fmt.Sprintf("explore: %v", err)) // the model has no other evaluations
	}
	for _, a := range wk.attempts {
		last = s.Plan(w.snaps[a.snap], w.now)
		if again = false; a.result != nil {
			again = s.Committed(a.result)
		}
	}
	return s, last, again
}

// jobOf returns the number of an evaluation's job.
func jobOf(e *broker.Evaluation) int { return strings.IndexByte("ab", e.JobID[0]) }
