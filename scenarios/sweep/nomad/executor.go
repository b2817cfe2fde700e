package nomad

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/simctl/simctl/internal/redact"
	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/scenarios"
	"github.com/simctl/simctl/scenarios/sweep"
)

// Executor runs cells on a Nomad cluster. It dispatches each to a parameterized batch job,
// which Job prints. Others may use the client, too. Its methods may be called from any
// goroutine.
type Executor struct {
	client *api.Client
	cfg    Config
	told   sync.Map // reasons that Waits has been told
}

// Config says how cells get to a cluster, and how their Results come back. A zero field has
// the value named beside it.
type Config struct {
	Job  string // ID of the parameterized job; DefaultJob
	Side int    // jobs dispatched at a time; 16
	// Results is the directory in which the Results of cells appear, if the job mounts the
	// same one (a network file system). If empty, Results come through the tasks' logs.
	Results string
	// Wait bounds one blocking query; 30 s. Retry is the first wait after a failed request,
	// which doubles up to Wait; 1 s. Patience is how long requests may fail; 10 min.
	Wait, Retry, Patience time.Duration
	// Waits, if not nil, is told why a cell waits to be placed, once for every reason. It is
	// called from many goroutines.
	Waits func(why string)
}

// Names in both the job and the executor.
const (
	DefaultJob  = "simctl-cell"
	taskName    = "cell"
	metaKey     = "key"
	metaAttempt = "attempt"
	metaCommand = "command"
)

// ErrNoJob is wrapped by errors of New about a cluster that lacks the job.
var ErrNoJob = errors.New("no job to dispatch")

// Connect returns an executor for the cluster at an address. The rest comes from the environment as
// for the nomad command: NOMAD_TOKEN, NOMAD_NAMESPACE and so on.
func Connect(ctx context.Context, address string, cfg Config) (*Executor, error) {
	at := api.DefaultConfig()
	at.Address = address
	client, err := api.NewClient(at)
	if err != nil {
		return nil, fmt.Errorf("%w: NOMAD_ADDR and its like: %s", ErrNoJob, redact.Passwords(err.Error()))
	}
	return New(ctx, client, cfg)
}

// New returns an executor for a cluster. The error says what is missing there.
func New(ctx context.Context, client *api.Client, cfg Config) (*Executor, error) {
	cfg.Job = cmp.Or(cfg.Job, DefaultJob)
	cfg.Side = cmp.Or(cfg.Side, 16)
	cfg.Wait = cmp.Or(cfg.Wait, 30*time.Second)
	cfg.Retry = cmp.Or(cfg.Retry, time.Second)
	cfg.Patience = cmp.Or(cfg.Patience, 10*time.Minute)
	job, _, err := client.Jobs().Info(cfg.Job, (&api.QueryOptions{}).WithContext(ctx))
	switch {
	case statusOf(err) == http.StatusNotFound:
		return nil, fmt.Errorf("%w: Nomad at %s knows no job %q: register it with simctl sweep … --print-job | nomad job run -", ErrNoJob, address(client), cfg.Job)
	case err != nil:
		return nil, fmt.Errorf("ask Nomad at %s for the job %q: %w", address(client), cfg.Job, err)
	case job.ParameterizedJob == nil:
		return nil, fmt.Errorf("%w: the job %q of Nomad at %s is not parameterized: register the one that --print-job prints", ErrNoJob, cfg.Job, address(client))
	case job.Stop != nil && *job.Stop:
		return nil, fmt.Errorf("%w: the job %q of Nomad at %s is stopped: register it again", ErrNoJob, cfg.Job, address(client))
	}
	if cfg.Waits == nil {
		cfg.Waits = func(string) {}
	}
	return &Executor{client: client, cfg: cfg}, nil
}

// statusOf returns the HTTP status that an error of the API reports; zero if it reports none.
func statusOf(err error) int {
	var e api.UnexpectedResponseError
	if errors.As(err, &e) && e.HasStatusCode() {
		return e.StatusCode()
	}
	return 0
}

// refused reports whether the same request would get the same error again.
func refused(err error) bool {
	status := statusOf(err)
	if status >= 400 && status < 500 {
		return status != http.StatusTooManyRequests
	}
	// A server reports what is wrong with a dispatch as an internal error
	// (nomad/job_endpoint.go, Dispatch).
	var e api.UnexpectedResponseError
	return errors.As(err, &e) && slices.ContainsFunc([]string{"metadata", "Payload", "parameterized", "is stopped"}, func(word string) bool {
		return strings.Contains(e.Body(), word)
	})
}

// Side implements sweep.Executor.
func (n *Executor) Side() int { return n.cfg.Side }

// Build implements sweep.Executor. The build that the cluster runs is unknown here.
func (n *Executor) Build() string { return "" }

// Run implements sweep.Executor. If this or an earlier process has dispatched a job for the
// same attempt, and Nomad has not forgotten it, Run waits for that job instead of a new one.
// It purges a job that ends without a Result, which frees its token for the next attempt.
func (n *Executor) Run(ctx context.Context, spec scenarios.Spec, key string, attempt int, _ func(scenarios.Progress)) (*metrics.Result, error) {
	run, err := scenarios.Compile(spec)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", sweep.ErrGiveUp, err)
	}
	spec = run.Spec() // no file is on the cluster
	payload, err := packSpec(spec)
	if err != nil {
		return nil, err
	}
	id, err := n.dispatch(ctx, payload, key, attempt, spec)
	if err != nil {
		return nil, err
	}
	res, err := n.await(ctx, id, key, attempt)
	if err != nil {
		//lint:ignore ST1005 Nomad is a name
		return nil, errors.Join(fmt.Errorf("Nomad job %s: %w", id, err), n.purge(ctx, id))
	}
	return res, nil
}

func (n *Executor) dispatch(ctx context.Context, payload []byte, key string, attempt int, spec scenarios.Spec) (id string, err error) {
	err = n.persist(ctx, "dispatch a cell", func() error {
		opts := &api.WriteOptions{IdempotencyToken: fmt.Sprintf("%s-%d", key, attempt)}
		meta := map[string]string{metaKey: key, metaAttempt: strconv.Itoa(attempt), metaCommand: spec.CommandLine()}
		resp, _, err := n.client.Jobs().Dispatch(n.cfg.Job, meta, payload, "", opts.WithContext(ctx))
		if err == nil {
			id = resp.DispatchedJobID
		}
		return err
	})
	return id, err
}

// persist repeats a request while nobody in the cluster answers it. It gives up the sweep if
// every other request would fail too, as with a refused token, or if the cluster is silent for
// longer than Patience.
func (n *Executor) persist(ctx context.Context, what string, request func() error) error {
	began, wait := time.Now(), n.cfg.Retry
	for {
		err := request()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case statusOf(err) == http.StatusNotFound:
			return fmt.Errorf("%s: %w", what, err) // for the caller to know what it means
		case refused(err):
			return fmt.Errorf("%s: Nomad at %s refuses: %w: %w", what, address(n.client), err, sweep.ErrGiveUp)
		case time.Since(began) >= n.cfg.Patience:
			return fmt.Errorf("%s: Nomad at %s has not answered for %v: %w: %w", what, address(n.client), n.cfg.Patience, err, sweep.ErrGiveUp)
		}
		if err := pause(ctx, wait); err != nil {
			return err
		}
		wait = min(2*wait, n.cfg.Wait)
	}
}

// Errors of a cell that the cluster lost. The sweep tries it again.
var (
	errLost = errors.New("the allocation was lost")
	errGone = errors.New("the job is gone")
)

// await follows a dispatched job to its end.
func (n *Executor) await(ctx context.Context, id, key string, attempt int) (*metrics.Result, error) {
	query := (&api.QueryOptions{WaitTime: n.cfg.Wait}).WithContext(ctx)
	for {
		alloc, job, err := n.look(ctx, id, query)
		if err != nil {
			return nil, err
		}
		switch {
		case alloc == nil && job == "dead":
			return nil, errGone // stopped before it was placed
		case alloc == nil:
		case alloc.ClientStatus == api.AllocClientStatusComplete:
			return n.collect(ctx, alloc, key, attempt)
		case alloc.ClientStatus == api.AllocClientStatusFailed:
			return nil, n.failure(ctx, alloc)
		case alloc.ClientStatus == api.AllocClientStatusLost:
			return nil, fmt.Errorf("%w with node %s", errLost, alloc.NodeName)
		}
	}
}

// look waits for news of a job and returns its newest allocation, nil if there is none, and
// its status.
func (n *Executor) look(ctx context.Context, id string, query *api.QueryOptions) (*api.AllocationListStub, string, error) {
	var newest *api.AllocationListStub
	status := ""
	err := n.persist(ctx, "follow "+id, func() error {
		allocs, meta, err := n.client.Jobs().Allocations(id, true, query)
		if err != nil {
			return err
		}
		if newest = nil; len(allocs) > 0 {
			newest = slices.MaxFunc(allocs, func(a, b *api.AllocationListStub) int { return cmp.Compare(a.CreateIndex, b.CreateIndex) })
		}
		// The index goes back if the cluster was restored: wait from its start.
		if meta.LastIndex < query.WaitIndex {
			query.WaitIndex = 0
		} else {
			query.WaitIndex = meta.LastIndex
		}
		if newest != nil {
			return nil
		}
		job, _, err := n.client.Jobs().Info(id, (&api.QueryOptions{}).WithContext(ctx))
		if err != nil {
			return err
		}
		if job.Status != nil {
			status = *job.Status
		}
		return n.tellWaiting(ctx, id)
	})
	if statusOf(err) == http.StatusNotFound {
		return nil, "", errGone
	}
	return newest, status, err
}

// collect returns the Result of a cell that completed.
func (n *Executor) collect(ctx context.Context, alloc *api.AllocationListStub, key string, attempt int) (*metrics.Result, error) {
	if n.cfg.Results == "" {
		text, err := n.logs(ctx, alloc, "stdout")
		if err != nil {
			return nil, err
		}
		return readLog(text)
	}
	path := filepath.Join(n.cfg.Results, resultName(key, strconv.Itoa(attempt)))
	for began := time.Now(); ; {
		res, err := metrics.Load(path)
		// A network file system may show a new file late.
		if err == nil || !errors.Is(err, os.ErrNotExist) || time.Since(began) >= n.cfg.Wait {
			return res, err
		}
		if err := pause(ctx, n.cfg.Retry); err != nil {
			return nil, err
		}
	}
}

// readLog reads a cell's output. The error about anything else quotes how the output begins.
func readLog(text string) (*metrics.Result, error) {
	res, err := scenarios.ReadOutcome(strings.NewReader(text))
	if errors.Is(err, scenarios.ErrNoOutcome) {
		line, _, _ := strings.Cut(text, "\n")
		const most = 60
		if len(line) > most {
			line = strings.ToValidUTF8(line[:most], "") + "…"
		}
		err = fmt.Errorf("%w: its stdout (%d B) begins with %q", err, len(text), line)
	}
	return res, err
}

// pause waits, or returns why ctx ended.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// resultName is the file that a cell writes.
func resultName(key, attempt string) string { return key + "-" + attempt + ".json" }

// failure returns why a cell failed: its own error, or else the task's last event.
func (n *Executor) failure(ctx context.Context, alloc *api.AllocationListStub) error {
	if text, err := n.logs(ctx, alloc, "stdout"); err == nil {
		if _, err := scenarios.ReadOutcome(strings.NewReader(text)); err != nil && !errors.Is(err, scenarios.ErrNoOutcome) {
			return err
		}
	}
	why := "the allocation failed"
	if state := alloc.TaskStates[taskName]; state != nil {
		for _, e := range slices.Backward(state.Events) {
			if e.Type != api.TaskNotRestarting { // which follows every failure
				why += ": " + e.DisplayMessage
				break
			}
		}
	}
	if text, err := n.logs(ctx, alloc, "stderr"); err == nil && strings.TrimSpace(text) != "" {
		text = strings.TrimSpace(text)
		why += "; it said: " + text[strings.LastIndexByte(text, '\n')+1:]
	}
	return errors.New(why)
}

// readTries is how often the log of a task is asked for, since its node may be busy or cut
// off.
const readTries = 3

// logs returns the output of a task.
func (n *Executor) logs(ctx context.Context, alloc *api.AllocationListStub, kind string) (string, error) {
	var err error
	for try := range readTries {
		if try > 0 {
			if err := pause(ctx, n.cfg.Retry); err != nil {
				return "", err
			}
		}
		var text string
		if text, err = n.readLogs(ctx, alloc, kind); err == nil || ctx.Err() != nil {
			return text, err
		}
	}
	return "", fmt.Errorf("read the %s of allocation %s: %w", kind, alloc.ID, err)
}

func (n *Executor) readLogs(ctx context.Context, alloc *api.AllocationListStub, kind string) (string, error) {
	var b strings.Builder
	query := (&api.QueryOptions{}).WithContext(ctx)
	frames, failed := n.client.AllocFS().Logs(&api.Allocation{ID: alloc.ID, NodeID: alloc.NodeID}, false, taskName, kind, "start", 0, ctx.Done(), query)
	for {
		select {
		case frame, ok := <-frames: // nil if the request failed
			if !ok {
				return b.String(), context.Cause(ctx)
			}
			b.Write(frame.Data)
		case err := <-failed:
			return "", err
		}
	}
}

// purge stops a job and makes the cluster forget it, even after the sweep was interrupted. It
// is no error if the job is gone.
func (n *Executor) purge(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), purgeWithin)
	defer cancel()
	_, _, err := n.client.Jobs().Deregister(id, true, (&api.WriteOptions{}).WithContext(ctx))
	if err != nil && statusOf(err) != http.StatusNotFound {
		return fmt.Errorf("stop the Nomad job %s: %w", id, err)
	}
	return nil
}

// purgeWithin bounds how long an interrupt waits.
const purgeWithin = 10 * time.Second
