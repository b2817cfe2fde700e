package scenarios

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/simctl/simctl/metrics"
)

// ChildCommand is the argument that makes this program a child: it must call Serve.
const ChildCommand = "run-one"

// message is one line of a child's output: some progress, then a result, an error or both.
type message struct {
	Progress *Progress       `json:"progress,omitempty"`
	Result   *metrics.Result `json:"result,omitempty"`
	Error    string          `json:"error,omitempty"`
}

// killAfter is how long a child may take to end once it was told to.
const killAfter = 5 * time.Second

// RunAll runs Specs side by side, as many at a time as there are processors but at least
// two, each in a child process that runs this program again with ChildCommand. The Results
// are in the order of the Specs. tell, which may be nil, is called with the Spec's index
// and its progress, by one goroutine for each run.
//
// The error joins those of the runs; the Results of runs that went well, or far enough to
// have one, are there nevertheless. When ctx ends, the children are told to stop, killed
// if they do not, and the error is ctx's.
func RunAll(ctx context.Context, specs []Spec, tell func(i int, p Progress)) ([]*metrics.Result, error) {
	specs = slices.Clone(specs)
	for i, s := range specs {
		var err error
		if specs[i], err = s.Complete(); err != nil {
			return nil, err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("run a child process: find this program: %w", err)
	}
	results, errs := make([]*metrics.Result, len(specs)), make([]error, len(specs))
	var group errgroup.Group
	side := min(max(2, runtime.NumCPU()), max(1, len(specs)))
	group.SetLimit(side)
	shares := heapShares(specs, side)
	for i, spec := range specs {
		group.Go(func() error {
			results[i], errs[i] = runChild(ctx, self, spec, shares[i], func(p Progress) {
				if tell != nil {
					tell(i, p)
				}
			})
			return nil
		})
	}
	_ = group.Wait() // the errors are in errs, one for each run
	if ctx.Err() != nil {
		return results, context.Cause(ctx)
	}
	return results, errors.Join(errs...)
}

// RunChild runs one Spec as RunAll does, with a share of memory of its own: heap is the
// bytes that the child's heap may grow to before it collects garbage in earnest. The caller
// decides how many run side by side.
func RunChild(ctx context.Context, spec Spec, heap int, tell func(Progress)) (*metrics.Result, error) {
	spec, err := spec.Complete()
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("run a child process: find this program: %w", err)
	}
	if tell == nil {
		tell = func(Progress) {}
	}
	return runChild(ctx, self, spec, heap, tell)
}

func runChild(ctx context.Context, self string, spec Spec, budget int, tell func(Progress)) (*metrics.Result, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	input, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("run a child process: %w", err)
	}
	cmd := exec.CommandContext(ctx, self, ChildCommand)
	cmd.Env = append(childEnv(os.Environ(), spec), budgetVar+"="+strconv.Itoa(budget))
	cmd.Stdin = strings.NewReader(string(input))
	stderr := &excerpt{}
	cmd.Stderr = stderr
	cmd.Cancel = func() error {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			return cmd.Process.Kill()
		}
		return nil
	}
	cmd.WaitDelay = killAfter
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("run a child process: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("run a child process: %w", err)
	}
	last, readErr := listen(stdout, tell)
	waitErr := cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case last.Error != "":
		return last.Result, errors.New(last.Error)
	case last.Result == nil || readErr != nil:
		return nil, fmt.Errorf("scenario %s with the %s broker: the child process ended without a result (%v); it said: %q",
			spec.Scenario, spec.Broker, errors.Join(waitErr, readErr), stderr.String())
	}
	return last.Result, nil
}

// listen reads a child's messages to the end and returns the last one, which has the
// outcome.
func listen(r io.Reader, tell func(Progress)) (message, error) {
	lines := json.NewDecoder(r)
	for {
		var m message
		if err := lines.Decode(&m); err != nil {
			// Nothing else may be written to a pipe nobody reads.
			_, _ = io.Copy(io.Discard, r)
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return message{}, err
		}
		if m.Progress == nil {
			_, err := io.Copy(io.Discard, r)
			return m, err
		}
		tell(*m.Progress)
	}
}

// ReadOutcome reads what a child wrote, from anywhere, and returns how its run ended. The
// error is the run's, or ErrNoOutcome if the text does not say, such as one that was cut.
func ReadOutcome(r io.Reader) (*metrics.Result, error) {
	last, err := listen(r, func(Progress) {})
	switch {
	case last.Error != "":
		return last.Result, errors.New(last.Error)
	case last.Result == nil || err != nil:
		return nil, fmt.Errorf("%w: %w", ErrNoOutcome, cmp.Or(err, io.ErrUnexpectedEOF))
	}
	return last.Result, nil
}

// ErrNoOutcome is wrapped by errors of ReadOutcome about a text without an outcome.
var ErrNoOutcome = errors.New("no outcome of a run")

// WriteOutcome writes what ReadOutcome reads.
func WriteOutcome(w io.Writer, res *metrics.Result, err error) error {
	last := message{Result: res}
	if err != nil {
		last.Error = err.Error()
	}
	return json.NewEncoder(w).Encode(last)
}

// childEnv is the environment a run repeats in. On virtual time one processor is enough,
// since all goroutines wait for each other, and makes their order repeatable. Nor does
// anybody wait for an answer there: collecting garbage all at once takes a fifth of the
// time away that collecting it beside the work costs.
func childEnv(env []string, spec Spec) []string {
	godebug := "randseednop=0,asynctimerchan=0"
	if spec.Clock != ClockWall {
		godebug += ",gcstoptheworld=1"
	}
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, "GODEBUG="); ok && v != "" {
			godebug = v + "," + godebug // the later setting counts
		}
	}
	env = append(env, "GODEBUG="+godebug)
	if spec.Clock != ClockWall {
		env = append(env, "GOMAXPROCS=1")
	}
	return env
}

// Serve is the child's side: it reads a Spec from in, runs it and writes messages to out.
// The error is that of the run, which the parent has been told, too. An interrupt ends the
// run.
func Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	defer tuneGC()()
	lines := json.NewEncoder(out)
	spec, err := readSpec(in)
	var res *metrics.Result
	var profiled func() error
	if err == nil {
		profiled, err = profileCPU(spec)
	}
	if err == nil {
		// The parent being gone ends the process by a signal, or the run by its last write.
		res, err = RunOne(ctx, spec, func(p Progress) { _ = lines.Encode(message{Progress: &p}) })
		err = errors.Join(err, profiled())
	}
	last := message{Result: res}
	if err != nil {
		last.Error = err.Error()
	}
	return errors.Join(err, lines.Encode(last))
}

func readSpec(in io.Reader) (Spec, error) {
	var spec Spec
	dec := json.NewDecoder(in)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&spec); err != nil {
		return spec, fmt.Errorf("read the spec of a run as JSON from stdin: %w", err)
	}
	return spec, nil
}

// excerpt keeps the beginning and the end of what is written to it: a Go traceback says
// what is wrong at its beginning, everything else at its end.
type excerpt struct {
	head, tail []byte
	cut        bool
}

// excerptSize bounds either part.
const excerptSize = 4 << 10

func (e *excerpt) Write(p []byte) (int, error) {
	room := min(excerptSize-len(e.head), len(p))
	e.head = append(e.head, p[:room]...)
	e.tail = append(e.tail, p[room:]...)
	if over := len(e.tail) - excerptSize; over > 0 {
		e.tail, e.cut = append(e.tail[:0], e.tail[over:]...), true
	}
	return len(p), nil
}

func (e *excerpt) String() string {
	between := ""
	if e.cut {
		between = "\n…\n"
	}
	return strings.TrimSpace(string(e.head) + between + string(e.tail))
}
