package cpu

import (
	"math"
	"slices"
	"time"
)

const (
	// whole is the weight of a thread, and that of a process over all cores. least is the smallest one.
	whole, least = 1024, 2
	// halfLife is how long a load takes to be forgotten by half (kernel/sched/pelt.c).
	halfLife = 32 * 1024 * time.Microsecond
)

// entity is what a queue shares a core among: a thread, or all the threads that a process has there.
type entity struct {
	weight    int64
	virtual   time.Duration // the time it has had; the less it weighs, the faster that grows
	end       time.Duration // of its slice, in virtual time
	protected time.Duration // until when it keeps the core, likewise
	owed      time.Duration // when it left its queue: by how much it had less than the average
	asleep    bool          // and still in the queue, since it had more than the average
}

func (e *entity) self() *entity { return e }

// stretch returns the virtual time of a time on a core.
func (e *entity) stretch(d time.Duration) time.Duration { return d * whole / time.Duration(e.weight) }

// member is an entity with what it stands for.
type member interface {
	comparable
	self() *entity
}

// queue shares a core by virtual time (EEVDF, kernel/sched/fair.c).
type queue[T member] struct {
	slice   time.Duration
	members []T
	runs    T             // one of the members, or zero
	mean    time.Duration // see average
}

// average is the virtual time that the members have had; that of the last ones if there are none.
func (q *queue[T]) average() time.Duration {
	var sum, weight int64
	for _, t := range q.members {
		e := t.self()
		sum += int64(e.virtual-q.mean) * e.weight
		weight += e.weight
	}
	if weight > 0 {
		q.mean += time.Duration(sum / weight)
	}
	return q.mean
}

// best returns who runs next, of members that have had no more than the average: the one that runs while it is protected, or
// else the one whose slice ends first. There must be members.
func (q *queue[T]) best() T {
	average := q.average()
	var best, none T
	for _, t := range q.members {
		e := t.self()
		if e.virtual > average {
			continue
		}
		if t == q.runs && e.virtual < e.protected {
			return t
		}
		if best == none || e.end < best.self().end {
			best = t
		}
	}
	return best
}

// put adds a member. It becomes part of the average, which must not change what it is owed (place_entity).
func (q *queue[T]) put(t T) {
	var others int64
	for _, m := range q.members {
		others += m.self().weight
	}
	e := t.self()
	owed := e.owed
	if others > 0 {
		owed = owed * time.Duration(others+e.weight) / time.Duration(others)
	}
	e.virtual = q.average() - owed
	e.end = e.virtual + e.stretch(q.slice)
	q.members = append(q.members, t)
}

// remove removes a member. One that was asleep is owed nothing for that.
func (q *queue[T]) remove(t T) {
	e := t.self()
	limit := e.stretch(max(2*q.slice, tick))
	e.owed = min(max(q.average()-e.virtual, -limit), limit)
	if e.asleep {
		e.owed = min(e.owed, 0)
	}
	e.asleep = false
	i := slices.Index(q.members, t)
	q.members = slices.Delete(q.members, i, i+1)
	q.stop(t)
}

// sleep has a member go to sleep. One that had more than the average stays until others have had as much (DELAY_DEQUEUE).
func (q *queue[T]) sleep(t T) {
	if e := t.self(); e.virtual > q.average() {
		e.asleep = true
		q.stop(t)
	} else {
		q.remove(t)
	}
}

// wake wakes a member that is asleep.
func (q *queue[T]) wake(t T) {
	if e := t.self(); e.virtual < q.average() {
		q.remove(t)
		q.put(t)
	} else {
		e.asleep = false
	}
}

// run has a member run. It is protected until its slice ends (RUN_TO_PARITY).
func (q *queue[T]) run(t T) {
	if q.runs != t {
		q.runs = t
		t.self().protected = t.self().end
	}
}

// stop has a member not run any more.
func (q *queue[T]) stop(t T) {
	if q.runs == t {
		var none T
		q.runs = none
	}
}

// expired reports whether who runs may have to give way, and begins its next slice if one is over.
func (q *queue[T]) expired() bool {
	e := q.runs.self()
	over := e.virtual >= e.protected
	if e.virtual >= e.end {
		e.end, over = e.virtual+e.stretch(q.slice), true
	}
	return over && len(q.members) > 1
}

// reweigh changes what a member weighs, and not how much time on the core it is owed (reweight_entity).
func (q *queue[T]) reweigh(t T, weight int64) {
	e := t.self()
	scaled := func(d time.Duration) time.Duration { return d * time.Duration(e.weight) / time.Duration(weight) }
	if slices.Contains(q.members, t) {
		average, virtual := q.average(), e.virtual
		e.virtual = average - scaled(average-virtual)
		e.end, e.protected = e.virtual+scaled(e.end-virtual), e.virtual+scaled(e.protected-virtual)
	}
	e.owed = scaled(e.owed)
	e.weight = weight
}

// load is how much of the time a thread has had something to do lately, of fully.
type load struct {
	is    int64 // now: fully or nothing
	was   int64 // at the instant since
	since time.Duration
}

const fully = 1 << 20

func (l *load) at(now time.Duration) int64 {
	kept := math.Exp2(-float64(now-l.since) / float64(halfLife))
	return l.is + int64(math.Round(float64(l.was-l.is)*kept))
}

func (l *load) set(now time.Duration, is int64) { *l = load{is, l.at(now), now} }
