package server

import (
	"testing"
	"time"

	"github.com/simctl/simctl/cluster/internal/config"
	"github.com/simctl/simctl/cluster/internal/raftnode"
	"github.com/simctl/simctl/cluster/simnet"
	"github.com/simctl/simctl/internal/virtualtest"
)

// TestNobodyDrawsTheSameTwice: workers that replace others, and those of a server that
// starts again, do not make the IDs that were made before.
func TestNobodyDrawsTheSameTwice(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		cfg := config.Config{Seed: 3, Servers: 1, NumSchedulers: 2}.WithDefaults()
		storage, err := raftnode.NewStorages("", false).New(Addr(0))
		if err != nil {
			t.Fatal(err)
		}
		shared := &Shared{Config: &cfg, Network: simnet.New(cfg.Seed, simnet.Link{}, simnet.Link{})}
		s := New(shared, Options{Schedulers: cfg.NumSchedulers, Host: &Host{}, Storage: storage})
		shared.ByAddr = func(string) *Server { return s }
		must := func(err error) {
			if err != nil {
				t.Fatal(err)
			}
		}
		must(s.Start())
		seen := map[uint64]string{}
		note := func(when string, want int) {
			s.mu.Lock()
			workers := s.workers
			s.mu.Unlock()
			s.stopWorkers()
			s.workerWG.Wait()
			worked, served := shared.Workers.Totals(time.Now())
			if w, sv := shared.Workers.Totals(time.Now().Add(time.Second)); w != worked || sv != served {
				t.Errorf("%s workers that have ended go on to work for %v and to serve for %v a second", when, w-worked, sv-served)
			}
			if len(workers) != want {
				t.Errorf("%d workers %s, want %d", len(workers), when, want)
			}
			for _, w := range workers {
				draw := w.rand.Uint64()
				if before, ok := seen[draw]; ok {
					t.Errorf("%s %s draws %d, as %s did", w.name, when, draw, before)
				}
				seen[draw] = w.name + " " + when
			}
		}
		note("at first", 2)
		s.SetSchedulers(3)
		note("after a change of num_schedulers", 3)
		must(s.Stop())
		s, err = s.Next()
		must(err)
		must(s.Start())
		time.Sleep(time.Second)
		note("after a restart", 3)
		must(s.Stop())
	})
}
