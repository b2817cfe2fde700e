package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"
)

// lastSlotPeek: three evaluations of two types are asked for together.
func lastSlotPeek(l *lab) {
	l.register("service-90", "service", 90)
	l.register("service-10", "service", 10)
	l.register("batch-50", "batch", 50)
	var order []string
	for range 3 {
		w := l.take("service", "batch")
		order = append(order, w.JobID)
		l.end(w, ack)
	}
	l.say("delivered: %s", strings.Join(order, ", "))
}

// pausedReaper: a worker gives an evaluation back three times, before and after a pause of the broker.
func pausedReaper(l *lab) {
	fail := func(job string) {
		l.register(job, "service", 50)
		for range 3 {
			l.end(l.take("service"), nack)
		}
		l.wait(10 * time.Second)
		evals, _, err := l.api.Jobs().Evaluations(job, nil)
		check(err)
		var is []string
		for _, e := range evals {
			is = append(is, fmt.Sprintf("%s (%s)", e.Status, e.TriggeredBy))
		}
		l.say("%s, 10 s after three nacks: %s; the broker has %.0f evaluations that nobody has", job, strings.Join(is, ", "), l.gauge("broker_total_ready"))
	}
	pause := func(on bool) {
		answer, _, err := l.api.Operator().SchedulerGetConfiguration(nil)
		check(err)
		answer.SchedulerConfig.PauseEvalBroker = on
		_, _, err = l.api.Operator().SchedulerSetConfiguration(answer.SchedulerConfig, nil)
		check(err)
	}
	fail("before")
	pause(true)
	l.wait(10 * time.Second)
	pause(false)
	l.wait(time.Second)
	fail("after")
}

// backlog has n evaluations of a job wait.
func (l *lab) backlog(job string, n int) {
	l.register(job, "service", 50)
	l.evaluate(job, n-1)
}

// evaluate calls for n evaluations of a job.
func (l *lab) evaluate(job string, n int) {
	each(n, func(int) {
		_, _, err := l.api.Jobs().ForceEvaluate(job, nil)
		check(err)
	})
}

// shedIDsStay: the waits of evaluations are measured before and after 12,000 evaluations of other jobs are shed.
func shedIDsStay(l *lab) {
	timed := func(prefix string) {
		before := l.gauge("broker_wait_time_count")
		for i := range 10 {
			l.register(fmt.Sprint(prefix, i), "service", 50)
			l.end(l.take("service"), ack)
		}
		l.wait(2 * time.Second) // the servers' interval is a second
		l.say("%s: of 10 evaluations that were processed %.0f are in nomad.broker.wait_time", prefix, l.gauge("broker_wait_time_count")-before)
	}
	l.register("first", "service", 50) // servers have the figure only after a first evaluation
	l.end(l.take("service"), ack)
	timed("before")
	for _, job := range []string{"many", "more"} {
		l.backlog(job, 6000)
		l.end(l.take("service"), ack)
		l.evaluate(job, 3) // one of them takes the place of the evaluation that is done, and is shed, too
		l.end(l.take("service"), ack)
		l.end(l.take("service"), ack)
	}
	l.say("shed: %.0f evaluations that nothing has written off yet", l.gauge("broker_total_cancelable"))
	timed("after")
}

// pending is how many evaluations are pending in the state of the server that is talked to.
func (l *lab) pending() (n int) {
	evals, _, err := l.api.Evaluations().List(&api.QueryOptions{AllowStale: true})
	check(err)
	for _, e := range evals {
		if e.Status == "pending" {
			n++
		}
	}
	return n
}

// restoredBacklog: the leader is killed when it has shed most of a backlog, but not yet written the shed evaluations
// as canceled.
func restoredBacklog(l *lab) {
	first := l.leads()
	l.dial((first + 1) % len(l.Servers))
	l.backlog("many", 5000)
	w := l.take("service")
	l.say("pending in the state: %d", l.pending())
	l.end(w, ack)
	check(l.KillServer(first))
	l.say("the leader is killed at the first ack; pending in the state: %d", l.pending())
	took := l.await("another leader", time.Minute, func() bool { now := l.leads(); return now >= 0 && now != first })
	l.dial(l.leads())
	l.await("a backlog that is restored", time.Minute, func() bool { return l.waiting() > 0 })
	l.wait(2 * time.Second) // the servers' interval is a second
	l.say("another leads %.1f s later; pending in the state: %d; in its broker: %.0f, of which %.0f are shed", took.Seconds(), l.pending(), l.waiting(),
		l.gauge("broker_total_cancelable"))
	l.end(l.take("service"), ack)
	l.wait(2 * time.Second)
	l.say("after its first ack: pending in the state: %d; in its broker: %.0f, of which %.0f are shed", l.pending(), l.waiting(),
		l.gauge("broker_total_cancelable"))
}

// waiting is how many evaluations the broker has.
func (l *lab) waiting() float64 {
	sum := 0.0
	for _, of := range []string{"ready", "unacked", "blocked", "pending", "cancelable"} { // blocked became pending
		sum += l.gauge("broker_total_" + of)
	}
	return sum
}
