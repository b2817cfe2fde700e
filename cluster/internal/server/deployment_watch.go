package server

import (
	"context"
	"sync"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/config"
	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/cluster/internal/leader"
	"github.com/simctl/simctl/cluster/state"
)

// deploymentWatch decides when a leader reads deployments, and spends the time of that (nomad/deploymentwatcher). One
// goroutine watches the table of deployments. When any of them has changed, it wakes the watchers of all active ones. A
// watcher is two goroutines. watchDeployment reads the job's allocations when a deployment has changed. getAllocs reads them
// when one of them has changed, and has watchDeployment act on that. All changes that come during a read share the next
// one. So a busy leader reads less often, and asks for fewer evaluations.
type deploymentWatch struct {
	changed chan struct{} // some deployment has

	mu       sync.Mutex
	watchers map[broker.JobID]*deploymentWatcher // of jobs with an active deployment
}

// deploymentWatcher watches the deployment of one job.
type deploymentWatcher struct {
	wake, allocWake chan struct{} // its goroutines
	cancel          context.CancelFunc

	mu         sync.Mutex
	deployment bool // some deployment has changed
	allocs     bool // an allocation of the job has changed
	found      bool // getAllocs has read a change of an allocation
	asked      bool // watchDeployment waits for the next such read
}

func newDeploymentWatcher() *deploymentWatcher {
	d := &deploymentWatcher{wake: make(chan struct{}, 1), allocWake: make(chan struct{}, 1), allocs: true}
	d.tell(&d.asked, d.allocWake)
	return d
}

func newDeploymentWatch() *deploymentWatch {
	return &deploymentWatch{changed: make(chan struct{}, 1), watchers: map[broker.JobID]*deploymentWatcher{}}
}

// heard takes note of an entry's effects. Watchers that exist hear of changed allocations first. A watcher that begins
// because of the entry reads the allocations anyway, and must not be told of them as well.
func (w *deploymentWatch) heard(fx *fsm.Effects) {
	w.mu.Lock()
	for _, job := range fx.DeploymentAllocs {
		if d := w.watchers[job]; d != nil {
			d.tell(&d.allocs, d.allocWake)
		}
	}
	w.mu.Unlock()
	if len(fx.Deployments) > 0 {
		leader.Wake(w.changed)
	}
}

// tell notes that something has happened, and wakes who is to act on it.
func (d *deploymentWatcher) tell(what *bool, wake chan<- struct{}) {
	d.mu.Lock()
	*what = true
	d.mu.Unlock()
	leader.Wake(wake)
}

// take reports whether something has happened since it was last asked.
func (d *deploymentWatcher) take(what *bool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	was := *what
	*what = false
	return was
}

// deploymentsCost reports whether to read deployments takes time. If not, what an entry changes is read where it is applied.
func (s *Server) deploymentsCost() bool { return s.cfg.Costs.Deployment != (config.DeploymentCosts{}) }

// watchDeployments runs the watch until ctx is done (deployments_watcher.go, watchDeployments).
func (s *Server) watchDeployments(ctx context.Context) {
	if !s.deploymentsCost() {
		for d := range s.Snapshot().Deployments() { // what has happened before
			s.deployments.Read(s.Snapshot(), broker.JobID{Namespace: d.Namespace, ID: d.JobID})
		}
		return
	}
	w, queries := s.deploymentWatch, &queryLimit{}
	var watchers sync.WaitGroup
	defer watchers.Wait()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		clear(w.watchers)
	}()
	leader.Wake(w.changed) // what has happened before
	for {
		select {
		case <-w.changed:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return
		}
		n := 0
		for range s.Snapshot().Deployments() {
			n++
		}
		s.inTurn("deployments", time.Duration(n)*s.cfg.Costs.Deployment.PerStub)
		w.follow(s.Snapshot(), func(job broker.JobID, d *deploymentWatcher) {
			watching, cancel := context.WithCancel(ctx)
			d.cancel = cancel
			watchers.Go(func() { s.watchDeployment(watching, job, d, queries) })
			watchers.Go(func() { s.getAllocs(watching, job, d, queries) })
		})
	}
}

// follow ends the watchers of deployments that are over, makes one for each active deployment that has none, which begin
// starts, and tells all of them that a deployment has changed.
func (w *deploymentWatch) follow(snap *state.Snapshot, begin func(broker.JobID, *deploymentWatcher)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for job, d := range w.watchers {
		if !snap.DeploymentOf(job).Active() {
			d.cancel()
			delete(w.watchers, job)
		}
	}
	for now := range snap.Deployments() {
		job := broker.JobID{Namespace: now.Namespace, ID: now.JobID}
		d := w.watchers[job]
		if d == nil && now.Active() {
			d = newDeploymentWatcher()
			w.watchers[job] = d
			begin(job, d)
		}
		if d != nil {
			d.tell(&d.deployment, d.wake)
		}
	}
}

// queryLimit limits how often all watchers together look at allocations and evaluations: once in deploymentQueryEvery, after a
// burst of up to a second's looks (deployments_watcher.go, LimitStateQueriesPerSecond). Watchers that come at one instant
// wait equally long, so that their order, which the runtime decides, does not matter.
type queryLimit struct {
	mu     sync.Mutex
	now    time.Time // of the last look
	before time.Time // up to here, looks before now have used up the limit
	paid   time.Time // up to here, looks at now have, too
}

const deploymentQueryEvery = 10 * time.Millisecond

// wait returns how long to wait before a look.
func (l *queryLimit) wait() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); now.After(l.now) {
		l.now = now
		if saved := now.Add(-time.Second); l.paid.Before(saved) {
			l.paid = saved
		}
		l.before = l.paid
	}
	l.paid = l.paid.Add(deploymentQueryEvery)
	return max(0, l.before.Add(deploymentQueryEvery).Sub(l.now))
}

// watchDeployment reads what one deployment's watcher does (deployment_watcher.go, watch).
func (s *Server) watchDeployment(ctx context.Context, job broker.JobID, d *deploymentWatcher, queries *queryLimit) {
	costs := s.cfg.Costs.Deployment
	key := "deployment/" + job.Namespace + "/" + job.ID
	for ctx.Err() == nil {
		select {
		case <-d.wake:
		case <-ctx.Done():
		}
		if d.take(&d.deployment) {
			s.readAllocs(key, job, costs.PerAlloc) // getDeploymentProgressCutoff
		}
		if d.take(&d.found) {
			leader.Sleep(ctx, queries.wait())
			s.inTurn(key, time.Duration(s.Snapshot().JobEvals(job).Count)*costs.PerEval) // handleAllocUpdate
			s.deployments.Read(s.Snapshot(), job)
			d.tell(&d.asked, d.allocWake)
		}
	}
}

// getAllocs reads the allocations of a deployment when its watcher asks for them. If none has changed by then, that read is
// in vain, and getAllocs reads again once one has (deployment_watcher.go, getAllocsCh, getAllocsImpl).
func (s *Server) getAllocs(ctx context.Context, job broker.JobID, d *deploymentWatcher, queries *queryLimit) {
	costs := s.cfg.Costs.Deployment
	key := "deployment-allocs/" + job.Namespace + "/" + job.ID
	waiting := false
	for ctx.Err() == nil {
		select {
		case <-d.allocWake:
		case <-ctx.Done():
		}
		asked := d.take(&d.asked)
		waiting = waiting || asked
		for waiting && ctx.Err() == nil {
			changed := d.take(&d.allocs)
			if !changed && !asked {
				break
			}
			asked = false
			leader.Sleep(ctx, queries.wait())
			s.readAllocs(key, job, costs.PerAlloc+costs.PerStub)
			if changed {
				waiting = false
				d.tell(&d.found, d.wake)
			}
		}
	}
}

// readAllocs spends what reading a job's allocations does.
func (s *Server) readAllocs(key string, job broker.JobID, each time.Duration) {
	n := s.Snapshot().JobAllocs(job)
	allocs := n.Live + n.Terminal
	s.inTurn(key, config.Uncached(time.Duration(allocs)*each, allocs, s.cfg.Costs.Deployment.HalfCached))
}
