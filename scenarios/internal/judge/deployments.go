package judge

import (
	"fmt"
	"strings"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
	"github.com/simctl/simctl/scenarios/internal/english"
)

// Deployments follows the deployments of a run. The zero value has seen none.
type Deployments struct {
	began   map[string]time.Time // of those under way, by ID
	longest time.Duration        // of those that ended in the phase
}

// BeginPhase forgets the deployments that have ended.
func (d *Deployments) BeginPhase() { d.longest = 0 }

// See looks at the state at one instant. A deployment that the state has no more has ended, since
// that of a later version took its place. One that begins and ends between two looks goes
// unseen.
func (d *Deployments) See(at time.Time, snap *state.Snapshot) {
	before := d.began
	d.began = nil
	for now := range snap.Deployments() {
		if !now.Active() {
			continue
		}
		began, ok := before[now.ID]
		if !ok {
			began = at
		}
		if d.began == nil {
			d.began = map[string]time.Time{}
		}
		d.began[now.ID] = began
	}
	for id, began := range before { // the greatest, in whatever order
		if _, ok := d.began[id]; !ok {
			d.longest = max(d.longest, at.Sub(began))
		}
	}
}

// UnderWay returns the number of deployments that are under way.
func (d *Deployments) UnderWay() int { return len(d.began) }

// Seconds returns how long the longest deployment took that ended in the phase, from its own
// beginning: zero if none ran, -1 if one is under way.
func (d *Deployments) Seconds() float64 {
	if len(d.began) > 0 {
		return -1
	}
	return d.longest.Round(time.Microsecond).Seconds()
}

// lacking returns the number of a job's allocations that wait for room. Those of a system job are not among those that
// its deployment wants, and do not keep it from ending.
func lacking(snap *state.Snapshot, job broker.JobID) int {
	n := 0
	for _, e := range snap.EvalsByJob(job) {
		switch {
		case e.Status != broker.StatusBlocked:
			continue
		case e.NodeID != "": // of a system job, one for each node
			n++
			continue
		}
		for _, failed := range e.FailedTGAllocs {
			n += failed
		}
	}
	return n
}

// mostNamed is the number of deployments that a warning names.
const mostNamed = 1

// Deploying returns the number of deployments that are under way, and how far they have come.
func Deploying(snap *state.Snapshot) (deployments int, far string) {
	var named []string
	for d := range snap.Deployments() {
		if !d.Active() {
			continue
		}
		if deployments++; deployments > mostNamed {
			continue
		}
		healthy, wanted := 0, 0
		for _, g := range d.Groups {
			healthy, wanted = healthy+g.Healthy, wanted+g.DesiredTotal
		}
		text := fmt.Sprintf("%s with %d of %s healthy", d.JobID, healthy, english.Plural(wanted, "allocation"))
		if n := lacking(snap, broker.JobID{Namespace: d.Namespace, ID: d.JobID}); n > 0 {
			text += fmt.Sprintf(" and no room for %d more", n)
		}
		named = append(named, text)
	}
	if more := deployments - mostNamed; more > 0 {
		named = append(named, fmt.Sprintf("%d more", more))
	}
	return deployments, strings.Join(named, ", ")
}

// Unfinished says what was under way when a run ended although no evaluation was pending:
// deployments and drains wait for clients most of their time. A run that leaves them has not got
// through what its last figures seem to say.
func Unfinished(snap *state.Snapshot) []string {
	var warnings []string
	if n, far := Deploying(snap); n > 0 {
		warnings = append(warnings, fmt.Sprintf("%s under way at the end (%s); until \"deployed\" waits for deployments", english.Plural(n, "deployment"), far))
	}
	draining := 0
	for n := range snap.Nodes() {
		if n.Drain != nil && len(snap.NodeAllocs(n.ID).Live) > 0 && n.Status == rpc.NodeStatusReady {
			draining++
		}
	}
	if draining > 0 {
		warnings = append(warnings, english.Plural(draining, "node")+" draining at the end")
	}
	return warnings
}
