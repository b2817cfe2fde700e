package nodesim

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
)

func run(ids ...string) []*rpc.Allocation  { return withDesired(rpc.AllocDesiredRun, ids) }
func stop(ids ...string) []*rpc.Allocation { return withDesired(rpc.AllocDesiredStop, ids) }

func withDesired(desired string, ids []string) []*rpc.Allocation {
	var allocs []*rpc.Allocation
	for _, id := range ids {
		allocs = append(allocs, &rpc.Allocation{ID: id, DesiredStatus: desired, ClientStatus: rpc.AllocClientPending})
	}
	return allocs
}

func reports(s *fakeServers) []string {
	var details []string
	for _, e := range s.calls("report") {
		details = append(details, strings.TrimSpace(e.detail))
	}
	return details
}

// oneReporting runs a test with one ready client that reports allocations.
func oneReporting(t *testing.T, b Behaviour, prepare func(*fakeServers), test func(*testing.T, *fakeServers, *Fleet, string)) {
	cfg := Config{Nodes: 1, Servers: 3, Seed: 2, ReportAllocs: true, Behaviour: b}
	inBubble(t, cfg, prepare, func(t *testing.T, s *fakeServers, f *Fleet) {
		waitReady(f)
		test(t, s, f, f.clients[0].id)
	})
}

func TestAllocationsAreStartedStoppedAndReportedInBatches(t *testing.T) {
	b := Behaviour{StartDelay: Delay{Min: time.Second}, StopDelay: Delay{Min: 2 * time.Second}}
	oneReporting(t, b, nil, func(t *testing.T, s *fakeServers, f *Fleet, node string) {
		placed := time.Since(s.started)
		s.place(node, run("c", "a", "b")...)
		time.Sleep(5 * time.Second)
		stopped := time.Since(s.started)
		s.place(node, stop("b")...)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if got, want := reports(s), []string{"a=running b=running c=running", "b=complete"}; !slices.Equal(got, want) {
			t.Fatalf("reports %q, want %q", got, want)
		}
		calls := s.calls("report")
		if wait := calls[0].at - placed; !within(wait, time.Second, 1200*time.Millisecond+slack) {
			t.Errorf("reported running %v after placing, want after 1s and up to one sync", wait)
		}
		if wait := calls[1].at - stopped; !within(wait, 2*time.Second, 2200*time.Millisecond+slack) {
			t.Errorf("reported complete %v after stopping, want after 2s and up to one sync", wait)
		}
		if got := f.Stats().AllocUpdates; got != 2 {
			t.Errorf("%d reports counted, want 2", got)
		}
	})
}

// TestBatchJobsEnd: an allocation of a batch or sysbatch job is complete after its time, unless it is told to
// stop before. One that ends before the client has said that it runs is reported once.
func TestBatchJobsEnd(t *testing.T) {
	placed := run("batch", "service", "stopped", "sysbatch", "system")
	for _, a := range placed {
		a.JobType = a.ID
	}
	placed[2].JobType = rpc.JobTypeBatch
	running := "batch=running service=running stopped=running sysbatch=running system=running"
	for _, tt := range []struct {
		runFor time.Duration
		want   []string
	}{
		{0, []string{running, "stopped=complete", "service=running healthy"}}, // and healthy
		{50 * time.Millisecond, []string{"batch=complete service=running stopped=complete sysbatch=complete system=running", "service=running healthy"}},
		{10 * time.Second, []string{running, "stopped=complete", "batch=complete service=running healthy sysbatch=complete"}},
	} {
		oneReporting(t, Behaviour{RunFor: Delay{Min: tt.runFor}}, nil, func(t *testing.T, s *fakeServers, f *Fleet, node string) {
			began := time.Since(s.started)
			s.place(node, placed...)
			time.Sleep(5 * time.Second)
			stopped := placed[2].Copy()
			stopped.DesiredStatus = rpc.AllocDesiredStop
			s.place(node, placed[0], placed[1], stopped, placed[3], placed[4])
			time.Sleep(15 * time.Second)
			synctest.Wait()
			if got := reports(s); !slices.Equal(got, tt.want) {
				t.Fatalf("run for %v: reports %q, want %q", tt.runFor, got, tt.want)
			}
			calls := s.calls("report")
			if wait := calls[len(calls)-1].at - began; len(calls) == 3 && tt.runFor > 0 && !within(wait, tt.runFor, tt.runFor+200*time.Millisecond+slack) {
				t.Errorf("complete %v after placing, want after %v and up to one sync", wait, tt.runFor)
			}
		})
	}
}

// TestWhatIsUrgentIsReportedSooner: since 1.6.0, statuses that the servers have never heard and
// health wait for a tick of each second, and a change of status does not.
func TestWhatIsUrgentIsReportedSooner(t *testing.T) {
	cfg := Config{Nodes: 1, Servers: 1, Seed: 2, ReportAllocs: true, Timing: Timing{AllocSyncTypical: time.Second, RegisterStagger: time.Nanosecond}}
	inBubble(t, cfg, nil, func(t *testing.T, s *fakeServers, f *Fleet) {
		waitReady(f)
		node := f.clients[0].id
		// The ticker starts anew with each report that went through.
		place := func(at time.Duration, allocs ...*rpc.Allocation) {
			time.Sleep(at - time.Since(s.started))
			s.place(node, allocs...)
		}
		deployed := run("a")
		deployed[0].DeploymentID = "d"
		place(100*time.Millisecond, append(deployed, run("b")...)...)
		place(5250*time.Millisecond, append(deployed, stop("b")...)...)
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if got, want := reports(s), []string{"a=running b=running", "b=complete", "a=running healthy"}; !slices.Equal(got, want) {
			t.Fatalf("reports %q, want %q", got, want)
		}
		for i, want := range []time.Duration{time.Second, 5400 * time.Millisecond, 10400 * time.Millisecond} {
			if at := s.calls("report")[i].at; !within(at, want, want+slack) {
				t.Errorf("report %d at %v, want %v", i, at, want)
			}
		}
	})
}

// TestHealth: a client reports an allocation of a deployment as healthy after ten seconds, and as unhealthy if it fails
// before that.
func TestHealth(t *testing.T) {
	oneReporting(t, Behaviour{}, nil, func(t *testing.T, s *fakeServers, f *Fleet, node string) {
		placed := run("a", "b")
		placed[0].DeploymentID, placed[1].DeploymentID, placed[1].JobID = "d", "d", "fails"
		began := time.Since(s.started)
		s.place(node, placed...)
		time.Sleep(5 * time.Second)
		f.FailAllocs("fails", 1)
		time.Sleep(15 * time.Second)
		synctest.Wait()
		if got, want := reports(s), []string{"a=running b=running", "b=failed unhealthy", "a=running healthy"}; !slices.Equal(got, want) {
			t.Fatalf("reports %q, want %q", got, want)
		}
		if wait := s.calls("report")[2].at - began; !within(wait, 10*time.Second, 10200*time.Millisecond+slack) {
			t.Errorf("reported healthy %v after placing, want after 10s and up to one sync", wait)
		}
	})
}

// TestFailAllocs: of a job's allocations that run, the first by name fail. Their client says so once, whatever it is
// told of them later, and knows it after a restart.
func TestFailAllocs(t *testing.T) {
	oneReporting(t, Behaviour{StartDelay: Delay{Min: time.Second}}, nil, func(t *testing.T, s *fakeServers, f *Fleet, node string) {
		placed := run("a", "b", "c", "d", "e")
		for i, name := range []string{"web[2]", "web[1]", "web[0]", "db[0]", "web[3]"} {
			placed[i].Name, placed[i].JobID = name, name[:strings.Index(name, "[")]
		}
		placed[4].DesiredStatus = rpc.AllocDesiredStop
		fail := func(n, want int) {
			t.Helper()
			if failed := f.FailAllocs("web", n); failed != want {
				t.Errorf("of %d, %d fail, want %d", n, failed, want)
			}
		}
		s.place(node, placed...)
		fail(9, 0) // none has started
		time.Sleep(5 * time.Second)
		fail(2, 2)
		time.Sleep(time.Second)
		stopped := placed[1].Copy()
		stopped.DesiredStatus = rpc.AllocDesiredStop
		placed[1] = stopped
		s.place(node, placed...)
		time.Sleep(time.Second)
		fail(0, 0)
		f.Stop(1)
		fail(9, 0)
		f.Resume([]string{node})
		waitReady(f)
		time.Sleep(time.Second)
		fail(9, 1)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if got, want := reports(s), []string{"e=complete", "a=running b=running c=running d=running", "b=failed c=failed", "a=failed"}; !slices.Equal(got, want) {
			t.Errorf("reports %q, want %q", got, want)
		}
	})
}

// TestHealthOfServices: clients say so of every allocation of a service, and of no other job's.
func TestHealthOfServices(t *testing.T) {
	cfg := Config{Nodes: 1, Servers: 1, Seed: 2, ReportAllocs: true}
	inBubble(t, cfg, nil, func(t *testing.T, s *fakeServers, f *Fleet) {
		waitReady(f)
		placed := run("batch", "service", "system")
		for _, a := range placed {
			a.JobType = a.ID
		}
		s.place(f.clients[0].id, placed...)
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if got, want := reports(s), []string{"batch=running service=running system=running", "service=running healthy"}; !slices.Equal(got, want) {
			t.Errorf("reports %q, want %q", got, want)
		}
	})
}

func TestWhatIsReported(t *testing.T) {
	known := func(client string) *rpc.Allocation {
		return &rpc.Allocation{ID: "x", DesiredStatus: rpc.AllocDesiredRun, ClientStatus: client}
	}
	unknownAndStopped := known(rpc.AllocClientUnknown)
	unknownAndStopped.DesiredStatus = rpc.AllocDesiredStop
	cases := []struct {
		name  string
		place [][]*rpc.Allocation
		want  []string
	}{
		{"one that runs already", [][]*rpc.Allocation{{known(rpc.AllocClientRunning)}}, nil},
		{"one that has ended", [][]*rpc.Allocation{{known(rpc.AllocClientLost)}}, nil},
		{"one that is stopped before it was seen", [][]*rpc.Allocation{stop("x")}, []string{"x=complete"}},
		{"stopped while it ran", [][]*rpc.Allocation{run("x"), stop("x")}, []string{"x=running", "x=complete"}},
		{"updated in place", [][]*rpc.Allocation{run("x"), run("x")}, []string{"x=running"}},
		{"stopped twice", [][]*rpc.Allocation{run("x"), stop("x"), stop("x")}, []string{"x=running", "x=complete"}},
		{"held for unknown while the client was out of reach", [][]*rpc.Allocation{run("x"), {known(rpc.AllocClientUnknown)}}, []string{"x=running", "x=running"}},
		{"held for unknown and told to stop", [][]*rpc.Allocation{run("x"), {unknownAndStopped}}, []string{"x=running", "x=complete"}},
		{"one more", [][]*rpc.Allocation{run("x"), run("w")}, []string{"x=running", "w=running"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			oneReporting(t, Behaviour{}, nil, func(t *testing.T, s *fakeServers, f *Fleet, node string) {
				for _, allocs := range c.place {
					s.place(node, allocs...)
					time.Sleep(3 * time.Second)
				}
				synctest.Wait()
				if got := reports(s); !slices.Equal(got, c.want) {
					t.Errorf("reports %q, want %q", got, c.want)
				}
			})
		})
	}
}

func TestStoppedBeforeItRan(t *testing.T) {
	oneReporting(t, Behaviour{StartDelay: Delay{Min: time.Minute}}, nil, func(t *testing.T, s *fakeServers, f *Fleet, node string) {
		s.place(node, run("x")...)
		time.Sleep(time.Second)
		s.place(node, stop("x")...)
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if got, want := reports(s), []string{"x=complete"}; !slices.Equal(got, want) {
			t.Errorf("reports %q, want %q", got, want)
		}
	})
}

func TestRefusedReportsAreKeptAndSentAgain(t *testing.T) {
	refusals := 2
	prepare := func(s *fakeServers) {
		s.fail = func(e logEntry) error {
			if e.method != "report" || refusals == 0 {
				return nil
			}
			refusals--
			return errors.New("node is initializing, not ready")
		}
	}
	oneReporting(t, Behaviour{}, prepare, func(t *testing.T, s *fakeServers, f *Fleet, node string) {
		s.place(node, run("x")...)
		time.Sleep(time.Second)
		s.place(node, run("y")...) // while the client waits to retry
		time.Sleep(time.Minute)
		synctest.Wait()
		want := []string{"x=running", "x=running y=running", "x=running y=running"}
		if got := reports(s); !slices.Equal(got, want) {
			t.Fatalf("reports %q, want %q", got, want)
		}
		calls := s.calls("report")
		for i := range 2 {
			if gap := calls[i+1].at - calls[i].at; !within(gap, 5*time.Second, 10*time.Second+slack) {
				t.Errorf("%v between a refused report and the next, want 5s to 10s", gap)
			}
			if calls[i+1].server == calls[i].server {
				t.Errorf("report %d went to server %d again, which had refused it", i+1, calls[i].server)
			}
		}
	})
}

func TestASuccessfulCallEndsTheWaitForTheNextHeartbeat(t *testing.T) {
	prepare := func(s *fakeServers) { s.ttl = func(string) time.Duration { return time.Hour } }
	oneReporting(t, Behaviour{}, prepare, func(t *testing.T, s *fakeServers, f *Fleet, node string) {
		time.Sleep(time.Minute)
		synctest.Wait()
		before := len(s.calls("heartbeat"))
		at := time.Since(s.started)
		s.place(node, run("x")...) // the watch answers
		synctest.Wait()
		time.Sleep(slack)
		synctest.Wait()
		beats := s.calls("heartbeat")
		if len(beats) != before+1 || beats[before].at-at > slack {
			t.Errorf("%d heartbeats at once after the watch answered, want 1", len(beats)-before)
		}
	})
}

func TestWatchRetries(t *testing.T) {
	cases := []struct {
		name        string
		err         error
		least, most time.Duration
	}{
		{"refused", errors.New("refused"), 30 * time.Second, time.Minute},
		{"unreachable: reads move on to the next server", rpc.ErrUnreachable, 0, 312500 * time.Microsecond},
		{"no leader", rpc.ErrNoLeader, 0, 312500 * time.Microsecond},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			// The first answer of the watch starts a heartbeat, whose success ends the wait after
			// the first failure: measure after the second.
			failures := 2
			prepare := func(s *fakeServers) {
				s.ttl = func(string) time.Duration { return time.Hour } // no heartbeat wakes the watch
				s.fail = func(e logEntry) error {
					if e.method != "watch" || e.detail != "2" || failures == 0 {
						return nil
					}
					failures--
					return c.err
				}
			}
			oneReporting(t, Behaviour{}, prepare, func(t *testing.T, s *fakeServers, f *Fleet, node string) {
				s.place(node, &rpc.Allocation{ID: "x", ClientStatus: rpc.AllocClientRunning}) // index 2
				time.Sleep(2 * time.Minute)
				synctest.Wait()
				calls := s.calls("watch")
				i := slices.IndexFunc(calls, func(e logEntry) bool { return e.detail == "2" })
				if i < 0 || len(calls) < i+3 {
					t.Fatalf("watches %+v, want one after two that failed", calls)
				}
				i++
				if gap := calls[i+1].at - calls[i].at; !within(gap, c.least, c.most+slack) {
					t.Errorf("watched again %v after the failure, want after %v to %v", gap, c.least, c.most)
				}
				if calls[i+1].server == calls[i].server {
					t.Errorf("watched server %d again, which had failed", calls[i].server)
				}
			})
		})
	}
}
