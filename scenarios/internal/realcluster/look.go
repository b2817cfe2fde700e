package realcluster

import (
	"math"
	"strconv"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/rpc"
)

// Stats returns the figures of this moment; the broker's are up to a second old. When the leader
// cannot be asked, there is no leader in them, nor a broker, and the rest is as it was last seen.
func (c *Cluster) Stats() cluster.Stats {
	c.looking.Lock()
	defer c.looking.Unlock()
	leader := c.Leader()
	c.hear()
	st := c.last
	if leader < 0 {
		c.lost = errNoLeader
	} else {
		c.lost = c.look(&st, c.servers[leader])
	}
	if c.lost != nil {
		st = c.last
		st.Leader, st.Broker = "", broker.Stats{}
	}
	c.lookAtMachine(&st)
	c.last = st
	return st
}

// shareOfAnswers is how long simctl does not ask again after an answer, as a multiple of what that took. A leader looks at each evaluation
// to count those of a status, and while 2,000 clients fell silent it spent 9% of its processor time on what was asked every second.
const shareOfAnswers = 25

// followersEvery is after how many looks at the leader the others are looked at. Servers stop
// showing what has not changed for a minute.
const followersEvery = 15

// hear takes what has happened since the last look.
func (c *Cluster) hear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.evals.again, c.going = c.evals.again || c.going, false
	c.evals.dropped = c.deleted
	for _, s := range c.servers {
		s.counts.gone = s.gone
	}
}

// look asks the leader. It is called with looking held.
func (c *Cluster) look(st *cluster.Stats, leader *server) error {
	index, err := lastIndex(leader.client)
	if err != nil {
		return err
	}
	if err := leader.scrape(); err != nil {
		return err
	}
	if c.looks++; c.looks%followersEvery == 0 {
		for i, s := range c.servers {
			if s != leader && c.Running(i) {
				_ = s.scrape() // it may have no leader
			}
		}
	}
	c.evals.stale = c.evals.stale || leader.rpc != st.Leader
	st.Leader, st.LastIndex = leader.rpc, max(index, st.LastIndex)
	c.lookAtBroker(st, leader.counts.now)
	if err := c.lookAtNodes(st, leader.client); err != nil {
		return err
	}
	b := st.Broker
	core := b.ByScheduler[rpc.JobTypeCore] // whose evaluations are in no log
	depth := float64(b.Ready + b.Unacked + b.Pending + b.Waiting + b.Cancelable - core.Ready - core.Unacked)
	c.evals.working = b.Unacked > core.Unacked
	reblocked := c.sum(metricReblocks)
	c.evals.retries = c.evals.retries || reblocked > 0
	acked := c.sum(metricAcks) - c.sum(metricCore) - reblocked
	if err := c.evals.look(leader.client, st.LastIndex, depth, acked); err != nil {
		return err
	}
	byStatus := c.evals.since()
	st.EvalsByStatus, st.StatePending = byStatus, int(byStatus[broker.StatusPending])
	entries := leader.counts.entries()
	c.mu.Lock()
	c.past = append(c.past, counted{st.LastIndex, entries})
	c.mu.Unlock()
	// Servers lose a few of the first that they count if these come at one instant. But each plan
	// that changes something has an entry, each node goes down by a missed heartbeat, and an
	// evaluation that was acked is over.
	was := st.Counters // what is guessed must not go back
	st.Counters = cluster.Counters{
		EvalsCreated:   max(was.EvalsCreated, c.evals.created),
		EvalsProcessed: max(was.EvalsProcessed, c.evals.ended(broker.StatusComplete)+c.evals.ended(broker.StatusFailed)+uint64(reblocked)),
		EvalsCanceled:  max(was.EvalsCanceled, c.evals.ended(broker.StatusCanceled)),
		EvalsFailed:    c.evals.ended(broker.StatusFailed), NodesDown: c.down,
		PlansSubmitted:   max(uint64(c.sum(metricPlans)), entries[entryTypes["apply_plan_results"]+entrySuffix]),
		MissedHeartbeats: max(uint64(c.sum(metricInvalidated)), c.down),
	}
	return nil
}

// sum adds up what the servers have counted.
func (c *Cluster) sum(metric string) float64 {
	n := 0.0
	for _, s := range c.servers {
		n += s.counts.total[metric]
	}
	return n
}

// lookAtBroker takes the leader's metrics as figures. A leader that has just come to lead tells none of its broker.
func (c *Cluster) lookAtBroker(st *cluster.Stats, m map[string]float64) {
	of := func(queue string) int { return int(m[brokerPrefix+queue]) }
	st.Broker = broker.Stats{
		Ready: of("total_ready"), Unacked: of("total_unacked"), Waiting: of("total_waiting"), Cancelable: of("total_cancelable"),
		Pending: of("total_pending") + of("total_blocked"), // which it was called once
	}
	if _, told := m[brokerPrefix+"total_ready"]; told {
		st.Broker.ByScheduler = map[string]broker.SchedulerStats{
			rpc.JobTypeCore: {Ready: of(rpc.JobTypeCore + "_ready"), Unacked: of(rpc.JobTypeCore + "_unacked")},
		}
	}
	st.HeartbeatsActive, st.PlanQueueDepth = int(m[metricHeartbeats]), int(m[metricPlanQueue])
	st.WorkerUtilisation = math.NaN()
}

// lookAtNodes counts the nodes by status, and those that have gone down since the last look. Nodes of others
// are none of the run's.
func (c *Cluster) lookAtNodes(st *cluster.Stats, client *api.Client) error {
	if c.nodesPace.Rests() {
		return nil
	}
	defer c.nodesPace.Asked(time.Now())
	nodes, _, err := client.Nodes().List(&api.QueryOptions{AllowStale: true})
	if err != nil {
		return asError(err)
	}
	now := make(map[string]string, len(nodes))
	st.NodesByStatus = map[string]int{}
	for _, n := range nodes {
		if c.cfg.Foreign && (c.clients == nil || !c.clients.Knows(n.ID)) {
			continue
		}
		now[n.ID] = n.Status
		st.NodesByStatus[n.Status]++
		if n.Status == rpc.NodeStatusDown && c.nodes[n.ID] != n.Status {
			c.down++
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes = now
	return nil
}

// lookAtMachine takes what the servers' machine tells, if this program has started them.
func (c *Cluster) lookAtMachine(st *cluster.Stats) {
	p := c.cfg.Processes
	st.CPUUtilisation, st.CPUStolen = c.work.look(p, time.Now())
	if p != nil {
		st.MemoryRead = p.MemoryRead()
	}
}

// lastIndex returns the index of the last entry of a server's log.
func lastIndex(client *api.Client) (uint64, error) {
	self, err := client.Agent().Self()
	if err != nil {
		return 0, asError(err)
	}
	return strconv.ParseUint(self.Stats["raft"]["last_log_index"], 10, 64)
}

// work remembers what the processors of the servers' machine had worked at the last look.
type work struct {
	at            time.Time
	spent, stolen time.Duration
}

// look returns the share of the processors that has worked since the last look, and the share that was stolen; NaN if that is not known.
func (w *work) look(p Processes, now time.Time) (worked, stolen float64) {
	if p == nil {
		return math.NaN(), math.NaN()
	}
	spent, gone, processors := p.Worked()
	if processors == 0 { // the next look is at what was since the last that told something
		return math.NaN(), math.NaN()
	}
	before := *w
	if *w = (work{now, spent, gone}); before.at.IsZero() {
		return math.NaN(), math.NaN()
	}
	all := float64(processors) * float64(now.Sub(before.at))
	return min(float64(spent-before.spent)/all, 1), min(float64(gone-before.stolen)/all, 1)
}
