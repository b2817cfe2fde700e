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
	index    uint64        // AllocModifyIndex of the last version seen
	due      time.Duration // when the allocation has that status
	status   allocStatus
	reported bool
	// acknowledged means that the servers have heard of the allocation before: a change of
	// its status is urgent.
	acknowledged bool
	// deployed means that the servers wait for the allocation to be healthy, which it is after
	// running for MinHealthy. The client learned of it at deployedAt.
	deployed   bool
	deployedAt time.Duration
}

type allocStatus uint8

const (
	allocRunning allocStatus = iota
	allocComplete
)

func (s allocStatus) String() string {
	if s == allocComplete {
		return rpc.AllocClientComplete
	}
	return rpc.AllocClientRunning
}

// healthyAt returns when a deployed allocation is healthy (client/allochealth/tracker.go).
func (a *alloc) healthyAt(cfg *Config) time.Duration {
	return max(a.due, a.deployedAt) + cfg.MinHealthy
}

// awaitsHealth reports whether the servers wait for the allocation to be healthy.
func awaitsHealth(l *rpc.Allocation) bool { return l.DeploymentID != "" && l.Health == "" }

// onAllocs takes the answer to a watch, and watches on.
func (c *client) onAllocs(cfg *Config, now time.Duration, a answer) {
	if a.err != nil {
		c.sleep(watchLoop, now+retry(&c.tasks[watchLoop].src, cfg.WatchRetry), true)
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
	if !slices.IsSortedFunc(listed, rpc.ByID) {
		listed = slices.SortedFunc(slices.Values(listed), rpc.ByID)
	}
	merged := make([]alloc, 0, len(listed))
	known := c.allocs
	for _, l := range listed {
		for len(known) > 0 && known[0].id < l.ID {
			known = known[1:]
		}
		if len(known) > 0 && known[0].id == l.ID {
			merged = append(merged, c.update(cfg, now, known[0], l))
			known = known[1:]
			continue
		}
		merged = append(merged, c.add(cfg, now, l))
	}
	c.allocs = merged
}

// add returns an allocation that is new to the client.
func (c *client) add(cfg *Config, now time.Duration, l *rpc.Allocation) alloc {
	a := alloc{id: l.ID, index: l.AllocModifyIndex, due: now, deployed: awaitsHealth(l), deployedAt: now}
	src := &c.tasks[watchLoop].src
	switch {
	case l.ClientTerminal():
		a.status, a.reported, a.acknowledged = allocComplete, true, true
	case l.ServerTerminal():
		a.status, a.due = allocComplete, now+cfg.Behaviour.StopDelay.draw(src)
	case l.ClientStatus == rpc.AllocClientRunning:
		a.reported, a.acknowledged = true, true
	default:
		a.due = now + cfg.Behaviour.StartDelay.draw(src)
	}
	return a
}

// update returns a known allocation as the servers list it now. The client's own changes
// do not raise AllocModifyIndex, and it ignores them.
func (c *client) update(cfg *Config, now time.Duration, a alloc, l *rpc.Allocation) alloc {
	if l.AllocModifyIndex <= a.index {
		return a
	}
	a.index = l.AllocModifyIndex
	if awaitsHealth(l) && !a.deployed {
		a.deployed, a.deployedAt = true, now
	}
	if l.ClientTerminal() && a.status == allocRunning {
		// The scenario made it fail, and reported that itself.
		a.status, a.reported = allocComplete, true
	}
	if l.ClientStatus == rpc.AllocClientUnknown && !l.ServerTerminal() {
		a.reported, a.acknowledged = false, false // the node was disconnected; what it runs is not urgent (client/allocrunner, Reconnect)
	}
	if l.ServerTerminal() && a.status != allocComplete {
		a.status, a.reported = allocComplete, false
		a.due = now + cfg.Behaviour.StopDelay.draw(&c.tasks[watchLoop].src)
	}
	return a
}

// planSync makes the sync loop wait for the first tick with something to send. It skips empty
// ticks, which would do nothing.
func (c *client) planSync(cfg *Config, now time.Duration) {
	t := &c.tasks[syncLoop]
	if t.state == calling || t.retrying {
		return // finishing the call plans the next tick
	}
	first, any := time.Duration(0), false
	sooner := func(due, every time.Duration) {
		if at := c.tick(max(due, now), every); !any || at < first {
			first, any = at, true
		}
	}
	calm := c.syncEvery
	if cfg.CalmReports && c.syncEvery == cfg.AllocSync {
		calm *= calmTicks
	}
	for _, a := range c.allocs {
		switch {
		case a.reported:
		case a.acknowledged:
			sooner(a.due, c.syncEvery)
		default:
			sooner(a.due, calm)
		}
		if a.deployed && a.status == allocRunning {
			sooner(a.healthyAt(cfg), calm)
		}
	}
	if !any {
		t.state = idle
		return
	}
	c.sleep(syncLoop, first, false)
}

// calmTicks is how many ticks what is not urgent may wait for (client/client.go, nextBatch,
// v1.6.0). Whatever else there is goes with what is urgent. After an error all of it goes at
// the next tick, where Nomad counts ticks on.
const calmTicks = 5

// tick returns the first tick of the sync loop's ticker at or after t, of those that are so
// long apart.
func (c *client) tick(t, every time.Duration) time.Duration {
	n := max((t-c.syncBase+every-1)/every, 1)
	return c.syncBase + n*every
}

// changes returns the statuses to report now.
func (c *client) changes(cfg *Config, now time.Duration) []*rpc.Allocation {
	var report []*rpc.Allocation
	for _, a := range c.allocs {
		healthy := a.deployed && a.status == allocRunning && a.healthyAt(cfg) <= now
		if !healthy && (a.reported || a.due > now) {
			continue
		}
		r := &rpc.Allocation{ID: a.id, NodeID: c.id, ClientStatus: a.status.String()}
		if healthy {
			r.Health = rpc.AllocHealthy
		}
		report = append(report, r)
	}
	return report
}

// onReport takes the answer to a report. The next one has what changed meanwhile.
func (c *client) onReport(cfg *Config, now time.Duration, asked call, a answer) {
	c.syncBase, c.syncEvery = now, cfg.AllocSync
	if a.err != nil {
		c.syncEvery = retry(&c.tasks[syncLoop].src, cfg.AllocSyncRetry)
	} else {
		for _, sent := range asked.report {
			i, found := slices.BinarySearchFunc(c.allocs, sent.ID, func(a alloc, id string) int {
				return strings.Compare(a.id, id)
			})
			if found && c.allocs[i].status.String() == sent.ClientStatus {
				c.allocs[i].reported, c.allocs[i].acknowledged = true, true
				c.allocs[i].deployed = c.allocs[i].deployed && sent.Health == ""
			}
		}
	}
	c.tasks[syncLoop].state = idle
	c.planSync(cfg, now)
}
