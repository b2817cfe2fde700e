package scenarios

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/scenarios/internal/garbage"
	"github.com/simctl/simctl/scenarios/internal/process"
	"github.com/simctl/simctl/scenarios/internal/run"
)

// Progress is how far a run has come.
type Progress = run.Progress

// Limits bound what a run takes of the machine.
type Limits = run.Limits

// ChildCommand is the argument that makes this program a child: it must call Serve.
const ChildCommand = process.Command

// ErrNoOutcome is wrapped by the errors of ReadOutcome about a text without an outcome.
var ErrNoOutcome = process.ErrNoOutcome

// RunOne runs a Spec in this process and returns its Result; tell, which may be nil, is
// called with the progress now and then and must be quick. A run repeats exactly only if
// the process has GOMAXPROCS 1 and was built or started with GODEBUG randseednop=0: use
// RunAll for that. Two runs on virtual time cannot go on in one process at a time, since Raft draws
// from a source they share: the second is refused.
//
// The error is that of Compile if the Spec cannot be run, and ctx's if that ended the run.
// A phase that never ended is an error, too, but comes with the Result of what was: so
// check both. Failed invariants are no error; see Result.Invariants. Nor is it one that a run
// reaches its Limits; see Result.Stopped.
func RunOne(ctx context.Context, spec Spec, tell func(Progress)) (*metrics.Result, error) {
	c, err := compileRun(spec)
	if err != nil {
		return nil, err
	}
	return run.Run(ctx, &c.scenario, tell)
}

// Other is servers of another design, which scenarios run on as on the simulated cluster.
type Other = run.Other

// RunBeside runs a Spec in this process, on virtual time, in servers of another design. They
// have the settings of the Spec's cluster, and the Result has their name in place of a broker's. The process must be like RunOne's.
func RunBeside(ctx context.Context, spec Spec, name string, start func(context.Context, cluster.Config) (Other, error), tell func(Progress)) (*metrics.Result, error) {
	c, err := compileRun(spec)
	if err != nil {
		return nil, err
	}
	sc := c.scenario
	sc.Run.Broker, sc.Run.Rerun = name, ""
	return run.Beside(ctx, &sc, start, tell)
}

// compileRun compiles a Spec that must name a broker.
func compileRun(s Spec) (*Compiled, error) {
	c, err := Compile(s)
	if err != nil || s.Broker != "" {
		return c, err
	}
	return c.Under(s.Broker)
}

// RunAll compiles Specs and runs them as Run does. Nothing runs if one cannot be compiled.
func RunAll(ctx context.Context, specs []Spec, tell func(i int, p Progress)) ([]*metrics.Result, error) {
	runs := make([]*Compiled, len(specs))
	for i, s := range specs {
		var err error
		if i > 0 && s.differsByBroker(specs[i-1]) {
			runs[i], err = runs[i-1].Under(s.Broker)
		} else {
			runs[i], err = compileRun(s)
		}
		if err != nil {
			return nil, err
		}
	}
	return Run(ctx, runs, tell)
}

// Run runs what was compiled side by side, as many at a time as there are processors but at
// least two, each in a child process that runs this program again with ChildCommand. The
// Results are in the order of the runs. tell, which may be nil, is called with the run's index
// and its progress, by one goroutine for each run.
//
// The error joins those of the runs; the Results of runs that went well, or far enough to
// have one, are there nevertheless. When ctx ends, the children are told to stop, killed
// if they do not, and the error is ctx's.
func Run(ctx context.Context, runs []*Compiled, tell func(i int, p Progress)) ([]*metrics.Result, error) {
	children := make([]process.Child, len(runs))
	for i, c := range runs {
		var err error
		if children[i], err = c.child(); err != nil {
			return nil, err
		}
	}
	return process.RunAll(ctx, children, tell)
}

// RunChild runs one Spec within limits as RunAll does, with a share of memory of its own: heap is
// the bytes that the child's heap may grow to before it collects garbage in earnest. The caller
// decides how many run side by side.
func RunChild(ctx context.Context, spec Spec, limits Limits, heap int, tell func(Progress)) (*metrics.Result, error) {
	c, err := compileRun(spec)
	if err != nil {
		return nil, err
	}
	child, err := c.Within(limits).child()
	if err != nil {
		return nil, err
	}
	return process.Run(ctx, child, garbage.Heap{Share: heap}.Under(limits.Memory), tell)
}

// ReserveHeap makes a small command a quarter faster on a virtual machine. Call it at the start of a process, before anything
// is run.
func ReserveHeap() { process.ReserveHeap() }

// Heaps returns how large the heap of each run may grow if Run runs them, and how many of them go on
// at a time.
func Heaps(runs []*Compiled) (heaps []garbage.Heap, side int) {
	var children []process.Child
	for _, c := range runs {
		children = append(children, c.demand())
	}
	return process.Heaps(children)
}

// child returns the run as a child process.
func (c *Compiled) child() (process.Child, error) {
	child := c.demand()
	var err error
	if child.Input, err = json.Marshal(order{c.spec, c.scenario.Limits}); err != nil {
		return child, fmt.Errorf("run a child process: %w", err)
	}
	return child, nil
}

// demand returns the child process, less what it reads.
func (c *Compiled) demand() process.Child {
	weight := 1
	if c.spec.Broker == broker.Legacy().String() {
		weight = 2 // it sheds nothing, and does twice the work
	}
	return process.Child{
		Scenario: c.spec.Scenario, Broker: c.spec.Broker,
		Wall: c.spec.Clock == ClockWall, Weight: weight, Memory: c.scenario.Limits.Memory, Data: c.data,
	}
}

// order is what a child reads. Limits are no part of the Spec: what a run is does not depend on
// them.
type order struct {
	Spec
	Limits Limits `json:"limits,omitzero"`
}

// Serve is the child's side: it reads a Spec, and its Limits, from in, runs it, and writes progress and outcome
// to out. The error is that of the run, which the parent reads as well. An interrupt ends the
// run.
func Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	return process.Serve(ctx, out, func(ctx context.Context, tell func(Progress)) (*metrics.Result, error) {
		what, err := readOrder(in)
		if err != nil {
			return nil, err
		}
		c, err := compileRun(what.Spec)
		if err != nil {
			return nil, err
		}
		stop, err := process.ProfileCPU(what.Scenario + "-" + what.Broker)
		if err != nil {
			return nil, err
		}
		res, err := run.Run(ctx, &c.Within(what.Limits).scenario, tell)
		return res, errors.Join(err, stop())
	})
}

// ServeIfChild serves and ends the program if RunAll or a sweep started it as a child, and
// returns if not. Programs without command lines of their own, such as tests, call it first.
func ServeIfChild() {
	if len(os.Args) < 2 || os.Args[1] != ChildCommand {
		return
	}
	if Serve(context.Background(), os.Stdin, os.Stdout) != nil {
		os.Exit(1) // the parent has read the error
	}
	os.Exit(0)
}

func readOrder(in io.Reader) (order, error) {
	var what order
	dec := json.NewDecoder(in)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&what); err != nil {
		return what, fmt.Errorf("read the spec of a run as JSON from stdin: %w", err)
	}
	return what, nil
}

// ReadOutcome reads the output of a child and returns how its run ended. The error is that of
// the run, or wraps ErrNoOutcome if the text has no outcome, such as one that was cut.
func ReadOutcome(r io.Reader) (*metrics.Result, error) { return process.ReadOutcome(r) }

// WriteOutcome writes what ReadOutcome reads.
func WriteOutcome(w io.Writer, res *metrics.Result, err error) error {
	return process.WriteOutcome(w, res, err)
}

// EndingSignals returns the signals that should end the context of runs.
func EndingSignals() []os.Signal { return process.EndingSignals() }
