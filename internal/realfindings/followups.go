package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/simctl/simctl/internal/nomadrpc"
)

// workers has the server work with so many workers of its own.
func (l *lab) workers(n int) {
	now, err := l.api.Agent().GetSchedulerWorkerConfig(nil)
	check(err)
	_, err = l.api.Agent().SetSchedulerWorkerConfig(api.SchedulerWorkerPoolArgs{NumSchedulers: n, EnabledSchedulers: now.EnabledSchedulers}, nil)
	check(err)
	l.wait(2 * time.Second) // those that have asked for work still get it
}

// report has the client of a node say what became of an allocation.
func (l *lab) report(n *nomadrpc.Node, alloc, status string) {
	w := global
	w.AuthToken = n.SecretID
	is := []*nomadrpc.Allocation{{ID: alloc, NodeID: n.ID, ClientStatus: status}}
	check(l.rpc.Call(l.ctx, "Node.UpdateAlloc", &nomadrpc.AllocUpdateRequest{Alloc: is, WriteRequest: w}, &nomadrpc.GenericResponse{}))
}

// beside waits while the client of a node goes on.
func (l *lab) beside(n *nomadrpc.Node, d time.Duration) {
	const every = 5 * time.Second
	for ; d > 0; d -= every {
		l.wait(min(d, every))
		l.status(n, "ready")
	}
}

// rescheduleDelay is how long after its failure an allocation of a service is replaced, the first time.
const rescheduleDelay = 30 * time.Second

// lostFollowup: two allocations of a job fail. The second fails while the evaluation that is to replace the first is due
// and waits for a worker.
func lostFollowup(l *lab) {
	const job = "a"
	node := l.node("node", 10)
	allocs := func() []*api.AllocationListStub {
		all, _, err := l.api.Jobs().Allocations(job, false, nil)
		check(err)
		slices.SortFunc(all, func(a, b *api.AllocationListStub) int { return strings.Compare(a.Name, b.Name) })
		return all
	}
	l.workers(1)
	l.registerMany(job, "service", 50, 2)
	l.await("two allocations", 10*time.Second, func() bool { return len(allocs()) == 2 })
	all := allocs()
	for _, a := range all {
		l.report(node, a.ID, "running")
	}
	l.report(node, all[0].ID, "failed")
	l.await("a follow-up evaluation", 10*time.Second, func() bool { return allocs()[0].FollowupEvalID != "" })
	l.workers(0)
	l.beside(node, rescheduleDelay)
	l.report(node, all[1].ID, "failed")
	l.wait(time.Second)
	l.workers(1)
	l.beside(node, 2*rescheduleDelay+10*time.Second)
	tell := func() {
		for _, a := range allocs() {
			l.tell(a)
		}
	}
	tell()
	l.evaluate(job, 1)
	l.wait(5 * time.Second)
	l.say("after nomad job eval:")
	tell()
}

// tell says what is to be known of an allocation.
func (l *lab) tell(a *api.AllocationListStub) {
	is := fmt.Sprintf("%s: desired %s, %s", a.Name, a.DesiredStatus, a.ClientStatus)
	if a.FollowupEvalID != "" {
		is += ", its follow-up " + l.state(a.FollowupEvalID)
	}
	l.say("%s", is)
}

// state is what is to be said of an evaluation.
func (l *lab) state(id string) string {
	evals, _, err := l.api.Evaluations().List(nil)
	check(err)
	if i := slices.IndexFunc(evals, func(e *api.Evaluation) bool { return e.ID == id }); i >= 0 {
		return "is " + evals[i].Status
	}
	return "does not exist"
}
