package process

import (
	"bytes"
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
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/scenarios/internal/garbage"
	"github.com/simctl/simctl/scenarios/internal/run"
)

// Command is the argument that makes this program a child: it must call Serve.
const Command = "run-one"

// Child is a run in a process of its own.
type Child struct {
	Scenario, Broker string // of the run, for errors
	Input            []byte // what the child reads from stdin
	Wall             bool   // the run is on the wall clock
	// Weight is the work of the run beside that of the others; memory is divided by it.
	Weight int
	// Memory is what the process should keep below, in bytes; zero: whatever its share is.
	Memory int64
	// Data is how many bytes of live data the run is told to have at most; zero: nobody knows.
	Data int
}

// message is one line of a child's output. The last one has a result, an error or both.
type message struct {
	Progress *run.Progress   `json:"progress,omitempty"`
	Result   *metrics.Result `json:"result,omitempty"`
	Error    string          `json:"error,omitempty"`
}

// killAfter is how long a child may take to end after an interrupt.
const killAfter = 5 * time.Second

// RunAll runs children side by side, as many at a time as there are processors but at least
// two. The Results are in the order of the children. tell, which may be nil, is called with
// the child's index and its progress, by one goroutine for each child.
//
// The error joins those of the runs, and those that fail alike are one. When ctx ends, the children are told to stop, killed if
// they do not, and the error is ctx's.
func RunAll(ctx context.Context, children []Child, tell func(i int, p run.Progress)) ([]*metrics.Result, error) {
	results, errs := make([]*metrics.Result, len(children)), make([]error, len(children))
	var group errgroup.Group
	heaps, side := Heaps(children)
	group.SetLimit(side)
	for i, child := range children {
		group.Go(func() error {
			results[i], errs[i] = Run(ctx, child, heaps[i], func(p run.Progress) {
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
	return results, joined(children, errs)
}

// joined joins the errors of runs. Errors that differ in the broker alone are one about all of these brokers.
func joined(children []Child, errs []error) error {
	type alike struct{ scenario, why string }
	brokers := map[alike][]string{}
	all := make([]alike, len(errs))
	for i, err := range errs {
		if err != nil {
			all[i] = alike{children[i].Scenario, strings.TrimPrefix(err.Error(), children[i].name()+": ")}
			brokers[all[i]] = append(brokers[all[i]], children[i].Broker)
		}
	}
	var each []error
	for i, err := range errs {
		switch names := brokers[all[i]]; {
		case err == nil, names == nil:
		case len(names) == 1:
			each = append(each, err)
		default:
			each = append(each, fmt.Errorf("scenario %s with the %s brokers: %s", all[i].scenario, strings.Join(names, " and "), all[i].why))
			brokers[all[i]] = nil
		}
	}
	return errors.Join(each...)
}

// name is what errors call the run.
func (c Child) name() string {
	return fmt.Sprintf("scenario %s with the %s broker", c.Scenario, c.Broker)
}

// Run runs a child with such a heap. tell may be nil. The error is that of the run, or ctx's.
func Run(ctx context.Context, child Child, heap garbage.Heap, tell func(run.Progress)) (*metrics.Result, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("run a child process: find this program: %w", err)
	}
	bounds, err := json.Marshal(bounds{heap, runtime.GOMAXPROCS(0)})
	if err != nil {
		return nil, fmt.Errorf("run a child process: %w", err)
	}
	cmd := exec.CommandContext(ctx, self, Command)
	cmd.Env = append(child.env(os.Environ()), heapVar+"="+string(bounds))
	cmd.Stdin = bytes.NewReader(child.Input)
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
	case last.Result == nil || readErr != nil || waitErr != nil:
		return nil, child.died(cmd.ProcessState, last.Result != nil, errors.Join(waitErr, readErr), stderr.String())
	}
	return last.Result, nil
}

// listen reads a child's messages to the end and returns the last one.
func listen(r io.Reader, tell func(run.Progress)) (message, error) {
	lines := json.NewDecoder(r)
	for {
		var m message
		if err := lines.Decode(&m); err != nil {
			// The child must not block on a pipe that nobody reads.
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
		if tell != nil {
			tell(*m.Progress)
		}
	}
}

// ReadOutcome reads the output of a child and returns how its run ended. The error is that of
// the run, or wraps ErrNoOutcome if the text has no outcome, such as one that was cut.
func ReadOutcome(r io.Reader) (*metrics.Result, error) {
	last, err := listen(r, nil)
	switch {
	case last.Error != "":
		return last.Result, errors.New(last.Error)
	case last.Result == nil || err != nil:
		return nil, fmt.Errorf("%w: %w", ErrNoOutcome, cmp.Or(err, io.ErrUnexpectedEOF))
	}
	return last.Result, nil
}

// ErrNoOutcome is wrapped by the errors of ReadOutcome about a text without an outcome.
var ErrNoOutcome = errors.New("no outcome of a run")

// WriteOutcome writes what ReadOutcome reads.
func WriteOutcome(w io.Writer, res *metrics.Result, err error) error {
	last := message{Result: res}
	if err != nil {
		last.Error = err.Error()
	}
	return json.NewEncoder(w).Encode(last)
}

// env is the environment in which the run repeats. On virtual time all goroutines wait for each
// other: one processor is enough, and makes their order repeatable. Nobody waits for an answer
// there, so garbage is collected with the world stopped, which makes a run a fifth faster. Not so within a GOMEMLIMIT: a run
// that needs more would do nothing but collect, while Go gives a world that goes on half of the time.
func (c Child) env(env []string) []string {
	godebug := "randseednop=0,asynctimerchan=0"
	if !c.Wall && os.Getenv("GOMEMLIMIT") == "" {
		godebug += ",gcstoptheworld=1"
	}
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, "GODEBUG="); ok && v != "" {
			godebug = v + "," + godebug // the later setting counts
		}
	}
	env = append(env, "GODEBUG="+godebug)
	if !c.Wall {
		env = append(env, "GOMAXPROCS=1")
	}
	return env
}

// EndingSignals returns the signals that end a run cleanly: Ctrl-C, a request, and the loss of the
// terminal, unless nohup has this process outlive it.
func EndingSignals() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

// Serve is the child's side. It calls do and writes the progress and the outcome to out. The
// error is that of the run, which the parent reads as well. An interrupt ends ctx.
func Serve(ctx context.Context, out io.Writer, do func(ctx context.Context, tell func(run.Progress)) (*metrics.Result, error)) error {
	ctx, stop := signal.NotifyContext(ctx, EndingSignals()...)
	defer stop()
	defer tuneGC()()
	lines := json.NewEncoder(out)
	// If the parent is gone, a signal ends the process, or the last write fails.
	res, err := do(ctx, func(p run.Progress) { _ = lines.Encode(message{Progress: &p}) })
	return errors.Join(err, WriteOutcome(out, res, err))
}

// excerpt keeps the beginning and the end of what is written to it: a Go traceback begins with
// what is wrong, other output ends with it.
type excerpt struct {
	head, tail []byte
	cut        bool
}

// excerptSize is the size of either part, in bytes.
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
