package broker

// Stats counts the evaluations the broker holds, by where they are. The fields are
// Nomad's gauges nomad.nomad.broker.total_*.
type Stats struct {
	Ready      int // in any ready queue, FailedQueue included
	Unacked    int
	Pending    int
	Waiting    int
	Cancelable int
	Failed     int // of Ready, those in FailedQueue
	// ByScheduler counts by scheduler type, FailedQueue included. A delivery counts for the
	// queue it was dequeued from. A type not seen since the broker was enabled is absent.
	ByScheduler map[string]SchedulerStats
}

// SchedulerStats counts the evaluations of one scheduler type.
type SchedulerStats struct {
	Ready   int
	Unacked int
}

// Stats counts the evaluations the broker holds. The map is the caller's.
func (b *EvalBroker) Stats() Stats {
	s := b.counts
	s.ByScheduler = make(map[string]SchedulerStats, len(b.queues))
	for _, q := range b.queues {
		s.ByScheduler[q.name] = SchedulerStats{Ready: q.ready.Len(), Unacked: q.unacked}
	}
	s.Failed = s.ByScheduler[FailedQueue].Ready
	return s
}

// HasReady reports whether any evaluation is ready, for whichever scheduler type.
func (b *EvalBroker) HasReady() bool { return b.counts.Ready > 0 }
