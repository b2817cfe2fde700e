package main

import (
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/simctl/simctl/internal/nomadrpc"
)

// crowd registers n jobs and has a worker take the evaluation of each.
func (l *lab) crowd(n int) []work {
	each(n, func(i int) { l.register(fmt.Sprint("crowd-", i), "service", 50) })
	var all []work
	for range n {
		all = append(all, l.take("service"))
	}
	return all
}

// flood has the workers of a crowd submit their plans, all at once, so that plans keep coming. Wait returns
// when all are written.
func (l *lab) flood(all []work) (wait func()) {
	wide := l.node("wide", len(all))
	var wg sync.WaitGroup
	begin := time.Now()
	failed := make(chan error, len(all))
	for _, w := range all {
		wg.Go(func() {
			if _, err := l.plan(w, wide, 1); err != nil {
				failed <- err
			}
		})
	}
	l.wait(100 * time.Millisecond)
	return func() {
		wg.Wait()
		l.say("%d other plans took %.1f s, and %d failed", len(all), time.Since(begin).Seconds(), len(failed))
	}
}

// overfilledNodes: while plans keep coming two jobs are registered, each of which fills a node.
func overfilledNodes(l *lab) {
	small := l.node("small", 2)
	wait := l.flood(l.crowd(l.many))
	for _, job := range []string{"a", "b"} {
		l.register(job, "service", 100)
		w := l.take("service")
		l.say("the plan of %s: %s", job, said(l.plan(w, small, 2)))
	}
	wait()
	l.say("on the node with room for 2: %v", l.running(small))
}

// staleVerification: while plans keep coming a node goes down, and then a plan for it comes.
func staleVerification(l *lab) {
	node := l.node("leaves", 2)
	crowd := l.crowd(l.many)
	l.register("a", "service", 100)
	w := l.take("service")
	wait := l.flood(crowd)
	l.status(node, "down")
	p, err := l.plan(w, node, 1)
	l.say("the plan after the node was down: %s", said(p, err))
	wait()
	l.end(w, ack)
	found, _, err := l.api.Nodes().Info(node.ID, nil)
	check(err)
	evals, _, err := l.api.Jobs().Evaluations("a", nil)
	check(err)
	l.say("the node is %s, and should run %v; the job has %d evaluations", found.Status, l.running(node), len(evals))
}

// nackedPlan: a worker gives an evaluation back while its plan is in the queue, and another plans, too.
func nackedPlan(l *lab) {
	node := l.node("node", 10)
	crowd := l.crowd(l.many)
	l.register("a", "service", 10) // after all others
	first := l.take("service")
	wait := l.flood(crowd)
	plans := make(chan string, 2)
	submit := func(name string, w work) {
		go func() { plans <- name + " plan: " + said(l.plan(w, node, 1)) }()
		l.wait(200 * time.Millisecond)
	}
	submit("first", first)
	l.end(first, nack)
	submit("second", l.take("service"))
	l.say("%s\n%s", <-plans, <-plans)
	wait()
	l.say("of a job of one allocation should run: %v", l.running(node))
}

// rivals are pairs of evaluations, each with a node that has room for one allocation.
type rivals struct {
	nodes []*nomadrpc.Node
	works []work // two for each node
}

// pairs is how many rivals there are, and writers how many of their nodes are for busy.
const pairs, writers = 200, 16

func (l *lab) rivals() rivals {
	var r rivals
	for i := range pairs {
		r.nodes = append(r.nodes, l.node(fmt.Sprint("node-", i), 1))
	}
	r.works = l.crowd(2 * pairs)
	return r
}

// busy has others write to the log until it is stopped: the status of a node each.
func (l *lab) busy(nodes []*nomadrpc.Node) (stop func()) {
	done := make(chan struct{})
	var g errgroup.Group
	for _, node := range nodes {
		g.Go(func() (err error) {
			defer caught(&err)
			for {
				select {
				case <-done:
					return nil
				default:
					l.status(node, "initializing") // two entries
					l.status(node, "ready")
				}
			}
		})
	}
	return func() { close(done); check(g.Wait()) }
}

// refusedAgain: two plans come at once for a node with room for one, while others write to the log.
func refusedAgain(l *lab) {
	r := l.rivals()
	stop := l.busy(r.nodes[:writers])
	others, early := 0, 0
	for i := writers; i < pairs; i++ {
		var got [2]*nomadrpc.PlanResult
		each(2, func(j int) {
			p, err := l.plan(r.works[2*i+j], r.nodes[i], 1)
			check(err)
			got[j] = p
		})
		for j, p := range got {
			if other := got[1-j]; refused(p) && !refused(other) {
				others++
				if p.RefreshIndex < other.AllocIndex {
					early++
				}
			}
		}
	}
	stop()
	l.say("%d plans refused for another; %d are to be made again on a state that may lack it", others, early)
}

// forgottenPlan: a plan comes for a node while another for the same node is on its way to the log. It was made on the
// newest state, which has entries that came before the other.
func forgottenPlan(l *lab) {
	r := l.rivals()
	stop := l.busy(r.nodes[:writers])
	over := 0
	for i := writers; i < pairs; i++ {
		each(2, func(j int) {
			w := r.works[2*i+j]
			if j == 1 {
				l.wait(time.Duration(i%8) * time.Millisecond)
				w.ModifyIndex = l.newest()
			}
			_, err := l.plan(w, r.nodes[i], 1)
			check(err)
		})
		if len(l.running(r.nodes[i])) > 1 {
			over++
		}
	}
	stop()
	l.say("%d of %d nodes with room for one allocation should run two", over, pairs-writers)
}
