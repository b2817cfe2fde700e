package leader_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/leader"
	"github.com/simctl/simctl/internal/virtualtest"
)

// TestEvalServiceScripts runs the transcripts of the blocking service on virtual time:
//
//	dequeue worker=NAME [types=(a,b)] [timeout=]   blocks in a goroutine of its own
//	cancel worker=NAME                             ends that worker's context
//	enqueue id= [job=] [type=] [priority=] [wait=]; enqueue-all, one a line
//	ack, nack id=                                  with the evaluation's latest token
//	advance by=; enable; disable; close
//
// After each command those workers are listed whose dequeue returned meanwhile. Both
// policies must answer alike: how a dequeue blocks does not depend on what is shed.
func TestEvalServiceScripts(t *testing.T) {
	paths, err := filepath.Glob("../../../broker/testdata/service/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scripts in broker/testdata/service: %v", err)
	}
	for _, path := range paths {
		for _, policy := range []broker.Policy{broker.Legacy(), broker.Shedding()} {
			t.Run(filepath.Base(path)+"/"+policy.String(), func(t *testing.T) {
				virtualtest.Run(t, 24*time.Hour, func(t *testing.T) {
					s := newServiceScript(policy)
					datadriven.RunTest(t, path, s.run)
					s.service.Close()
				})
			})
		}
	}
}

type serviceScript struct {
	service *leader.EvalService
	start   time.Time
	created uint64
	cancel  map[string]context.CancelFunc

	mu       sync.Mutex
	latest   map[string]string // evaluation ID to its latest token
	finished []string
}

func newServiceScript(policy broker.Policy) *serviceScript {
	s := &serviceScript{
		service: leader.NewEvalService(broker.Config{
			Policy: policy,
			Rand:   rand.New(rand.NewPCG(1, 1)),
		}),
		start:  time.Now(),
		cancel: map[string]context.CancelFunc{},
		latest: map[string]string{},
	}
	s.service.SetEnabled(true)
	return s
}

func (s *serviceScript) run(t *testing.T, d *datadriven.TestData) string {
	out := s.command(t, d)
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.Sort(s.finished) // goroutines woken at one instant return in any order
	lines := strings.Join(append([]string{out}, s.finished...), "\n")
	s.finished = nil
	return strings.TrimPrefix(lines, "\n")
}

func (s *serviceScript) command(t *testing.T, d *datadriven.TestData) string {
	switch d.Cmd {
	case "enable", "disable":
		s.service.SetEnabled(d.Cmd == "enable")
	case "close":
		s.service.Close()
	case "advance":
		time.Sleep(duration(t, arg(d.CmdArgs, "by")))
	case "enqueue":
		s.service.Enqueue(s.evaluation(t, d.CmdArgs))
	case "enqueue-all":
		var all []broker.EvalToken
		for line := range strings.Lines(d.Input) {
			_, args, err := datadriven.ParseLine("enqueue " + strings.TrimSpace(line))
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			all = append(all, broker.EvalToken{Eval: s.evaluation(t, args)})
		}
		s.service.EnqueueAll(all)
	case "dequeue":
		s.dequeue(t, d)
	case "cancel":
		s.cancel[arg(d.CmdArgs, "worker")]()
	case "ack", "nack":
		id := arg(d.CmdArgs, "id")
		s.mu.Lock()
		token := s.latest[id]
		s.mu.Unlock()
		var err error
		if d.Cmd == "ack" {
			_, err = s.service.Ack(id, token)
		} else {
			err = s.service.Nack(id, token)
		}
		if err != nil {
			return err.Error()
		}
	default:
		d.Fatalf(t, "unknown command %q", d.Cmd)
	}
	return ""
}

func (s *serviceScript) dequeue(t *testing.T, d *datadriven.TestData) {
	name, types := arg(d.CmdArgs, "worker"), []string{"service"}
	var timeout time.Duration
	for _, a := range d.CmdArgs {
		switch a.Key {
		case "types":
			types = a.Vals
		case "timeout":
			timeout = duration(t, a.Vals[0])
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	s.cancel[name] = cancel
	go func() {
		defer cancel()
		e, token, err := s.service.Dequeue(ctx, types, timeout)
		out := "nothing"
		s.mu.Lock()
		defer s.mu.Unlock()
		switch {
		case err != nil:
			out = err.Error()
		case e != nil:
			out, s.latest[e.ID] = e.ID, token
		}
		s.finished = append(s.finished, fmt.Sprintf("%s: %s at %v", name, out, time.Since(s.start)))
	}()
}

func (s *serviceScript) evaluation(t *testing.T, args []datadriven.CmdArg) *broker.Evaluation {
	s.created++
	e := &broker.Evaluation{JobID: "j", Type: "service", Priority: 50, CreateIndex: s.created, ModifyIndex: s.created}
	for _, a := range args {
		switch value := a.Vals[0]; a.Key {
		case "id":
			e.ID = value
		case "job":
			e.JobID = value
		case "type":
			e.Type = value
		case "wait":
			e.Wait = duration(t, value)
		case "priority":
			if _, err := fmt.Sscan(value, &e.Priority); err != nil {
				t.Fatalf("priority=%q: %v", value, err)
			}
		default:
			t.Fatalf("unknown argument %q of enqueue", a.Key)
		}
	}
	return e
}

func arg(args []datadriven.CmdArg, key string) string {
	for _, a := range args {
		if a.Key == key {
			return a.Vals[0]
		}
	}
	return ""
}

func duration(t *testing.T, text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
