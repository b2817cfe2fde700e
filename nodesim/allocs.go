package nodesim

import (
	"slices"
	"strings"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
)

// alloc is what a client knows of one of its allocations. It is small because 100,000 clients
// may have 30 each.
type alloc struct {
	id       string
	index    uint64          // AllocModifyIndex of the last version seen
	seen     *rpc.Allocation // that version, to know it again; nil if the client has stopped since
	due      time.Duration   // when the allocation has that status
	status   allocStatus
	reported bool
	acked    bool // the servers have acknowledged a status
	// watched means that the client is to say when the allocation is healthy, which it is after
	// running for MinHealthy. The client learned of it at watchedAt.
	watched   bool
	watchedAt time.Duration
	// ends is when a running allocation is complete by itself; zero means never.
	ends time.Duration
}

type allocStatus uint8

const (
	allocRunning allocStatus = iota
	allocComplete
	allocFailed
)

func (s allocStatus) String() string {
	return [...]string{rpc.AllocClientRunning, rpc.AllocClientComplete, rpc.AllocClientFailed}[s]
}

// healthyAt returns when a watched allocation is healthy (client/allochealth/tracker.go).
func (a *alloc) healthyAt(cfg *Config) time.Duration {
	return max(a.due, a.watchedAt) + cfg.MinHealthy
}

// awaitsHealth reports whether the client is still to say when the allocation is healthy. Clients say so of allocations of
// deployments and of services, since deployments and the drains of services wait for it
// (client/allocrunner/health_hook.go).
func awaitsHealth(l *rpc.Allocation) bool {
	return l.Health == "" && (l.DeploymentID != "" || l.JobType == rpc.JobTypeService)
}

// onAllocs takes the answer to a watch, and watches on.
func (c *client) onAllocs(cfg *Config, now time.Duration, a answer) {
	if a.err != nil {
		c.sleep(watchLoop, now+retry(&c.tasks[watchLoop].src, cfg.WatchRetry), true)
		return
	}
	if cfg.IgnoresStale && a.index <= c.index {
		c.sleep(watchLoop, now, true)
		return
	}
	c.index = max(c.index, a.index)
	c.learn(cfg, now, a.allocs)
	c.planSync(cfg, now)
	c.sleep(watchLoop, now, true)
}

// learn merges the servers' list into what the client knows, both in the order of IDs. It
// forgets allocations that are not listed: they were garbage collected.
func (c *client) learn(cfg *Config, now time.Duration, listed []*rpc.Allocation) {
	if len(listed) > cap(c.allocs) {
		// Make more room than needed, since most lists are a little longer than the one before.
		c.allocs = append(make([]alloc, 0, len(listed)+len(listed)/8), c.allocs...)
	}
	for i, l := range listed {
		if i < len(c.allocs) && c.allocs[i].seen == l {
			continue // most are the rows of the last list
		}
		gone := i
		for gone < len(c.allocs) && c.allocs[gone].id < l.ID {
			gone++
		}
		c.allocs = slices.Delete(c.allocs, i, gone)
		if i < len(c.allocs) && c.allocs[i].id == l.ID {
			c.allocs[i] = c.update(cfg, now, c.allocs[i], l)
		} else {
			c.allocs = slices.Insert(c.allocs, i, c.add(cfg, now, l))
		}
	}
	c.allocs = slices.Delete(c.allocs, len(listed), len(c.allocs))
}

// add returns an allocation that is new to the client.
func (c *client) add(cfg *Config, now time.Duration, l *rpc.Allocation) alloc {
	a := alloc{id: l.ID, index: l.AllocModifyIndex, seen: l, due: now, watched: awaitsHealth(l), watchedAt: now}
	src := &c.tasks[watchLoop].src
	switch {
	case l.ClientTerminal():
		a.status, a.reported = allocComplete, true
	case l.ServerTerminal():
		a.acked = l.ClientStatus == rpc.AllocClientRunning
		a.status, a.due = allocComplete, now+cfg.Behaviour.StopDelay.draw(src)
	case l.ClientStatus == rpc.AllocClientRunning:
		a.reported, a.acked = true, true
	default:
		a.due = now + cfg.Behaviour.StartDelay.draw(src)
	}
	if a.status == allocRunning && (l.JobType == rpc.JobTypeBatch || l.JobType == rpc.JobTypeSysBatch) {
		if runs := cfg.Behaviour.RunFor.draw(src); runs > 0 {
			a.ends = a.due + runs
		}
	}
	return a
}

// pass takes note that a running allocation has ended. If it has not been reported as running by then, it never will be.
func (a *alloc) pass(now time.Duration) {
	if a.status == allocRunning && a.ends > 0 && a.ends <= now {
		a.status, a.due, a.reported = allocComplete, a.ends, false
	}
}

// update returns a known allocation as the servers list it now. The client's own changes
// do not raise AllocModifyIndex, and it ignores them.
func (c *client) update(cfg *Config, now time.Duration, a alloc, l *rpc.Allocation) alloc {
	if l.AllocModifyIndex < a.index {
		return a // from a server that is behind
	}
	a.seen = l
	if l.AllocModifyIndex == a.index {
		return a
	}
	a.index = l.AllocModifyIndex
	if awaitsHealth(l) && !a.watched {
		a.watched, a.watchedAt = true, now
	}
	if l.ClientStatus == rpc.AllocClientUnknown && !l.ServerTerminal() {
		a.reported = false // the node was disconnected (client/client.go, updateAlloc, Reconnect)
	}
	if l.ServerTerminal() && a.status == allocRunning {
		a.status, a.reported = allocComplete, false
		a.due = now + cfg.Behaviour.StopDelay.draw(&c.tasks[watchLoop].src)
	}
	return a
}

// runs reports whether the allocation runs, as far as the client can tell.
func (a *alloc) runs(now time.Duration) bool {
	return a.status == allocRunning && a.due <= now && (a.ends == 0 || a.ends > now)
}

// fail makes an allocation fail, if the client has it. One that fails before the client has called it healthy is
// unhealthy (client/allochealth/tracker.go).
func (c *client) fail(cfg *Config, now time.Duration, id string) {
	if i, found := c.find(id); found {
		c.allocs[i].status, c.allocs[i].due, c.allocs[i].reported = allocFailed, now, false
		c.planSync(cfg, now)
	}
}

// find returns the place of an allocation in the client's list.
func (c *client) find(id string) (place int, found bool) {
	return slices.BinarySearchFunc(c.allocs, id, func(a alloc, id string) int { return strings.Compare(a.id, id) })
}

// planSync makes the sync loop wait for the first tick with something to send. It skips empty
// ticks, which would do nothing.
func (c *client) planSync(cfg *Config, now time.Duration) {
	t := &c.tasks[syncLoop]
	if t.state == calling || t.retrying {
		return // finishing the call plans the next tick
	}
	first, any := time.Duration(0), false
	sooner := func(due time.Duration, urgent bool) {
		if at := c.tick(cfg, max(due, now), urgent); !any || at < first {
			first, any = at, true
		}
	}
	for i := range c.allocs {
		a := &c.allocs[i]
		if !a.reported {
			sooner(a.due, a.acked)
		}
		if a.watched && a.status == allocRunning {
			sooner(a.healthyAt(cfg), false)
		}
		if a.ends > 0 && a.status == allocRunning {
			sooner(a.ends, a.acked)
		}
	}
	if !any {
		t.state = idle
		return
	}
	c.sleep(syncLoop, first, false)
}

// tick returns the first tick of the sync loop's ticker at or after t, of those that send
// what is not urgent unless urgent is set (pendingClientUpdates.nextBatch).
func (c *client) tick(cfg *Config, t time.Duration, urgent bool) time.Duration {
	every := c.syncEvery
	if !urgent {
		every = max(every, cfg.AllocSyncTypical/every*every)
	}
	n := max((t-c.syncBase+every-1)/every, 1)
	return c.syncBase + n*every
}

// changes returns the statuses to report now.
func (c *client) changes(cfg *Config, now time.Duration) []*rpc.Allocation {
	var report []*rpc.Allocation
	for i := range c.allocs {
		a := &c.allocs[i]
		a.pass(now)
		healthy := a.watched && a.status == allocRunning && a.healthyAt(cfg) <= now
		if !healthy && (a.reported || a.due > now) {
			continue
		}
		r := &rpc.Allocation{ID: a.id, NodeID: c.id, ClientStatus: a.status.String()}
		switch {
		case healthy:
			r.Health = rpc.AllocHealthy
		case a.watched && a.status == allocFailed:
			r.Health = rpc.AllocUnhealthy
		}
		report = append(report, r)
	}
	return report
}

// delaySync makes the next tick come after a while. In newer releases those after it come as often as before, and it is
// one of those that send only what is urgent: a batch that is not waits for four more (client/client.go, allocSync, v1.6.0).
func (c *client) delaySync(cfg *Config, d time.Duration) {
	if cfg.AllocSyncTypical > 0 {
		c.syncBase += d - cfg.AllocSync
	} else {
		c.syncEvery = d
	}
}

// onReport takes the answer to a report. The next one has what changed meanwhile.
func (c *client) onReport(cfg *Config, now time.Duration, asked call, a answer) {
	c.syncBase, c.syncEvery = now, cfg.AllocSync
	if a.err != nil {
		c.delaySync(cfg, retry(&c.tasks[syncLoop].src, cfg.AllocSyncRetry))
	} else {
		for _, sent := range asked.report {
			i, found := c.find(sent.ID)
			if found && c.allocs[i].status.String() == sent.ClientStatus {
				c.allocs[i].reported, c.allocs[i].acked = true, true
				c.allocs[i].watched = c.allocs[i].watched && sent.Health == ""
			}
		}
	}
	c.tasks[syncLoop].state = idle
	c.planSync(cfg, now)
}
