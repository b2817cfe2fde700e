package explore

import (
	"bytes"
	"slices"
)

// key appends the canonical description of an observed world, which is equal for two
// worlds that can do the same. It leaves out what no step and no check can tell apart:
//
//   - finished evaluations that nobody holds;
//   - the names of jobs and workers;
//   - how the evaluations of different jobs are interleaved;
//   - by how much a snapshot is too old, and that it is too old if the job is owed no run;
//   - all times but the order in which evaluations stop waiting. A nack timeout after the
//     end of a wait has the effect of the end of the wait and then the timeout.
//
// TestKey verifies that nothing of this matters.
func (w *world) key(to []byte) []byte {
	to = append(to, flag(w.gaining), byte(w.timeouts), byte(w.failovers), byte(w.writeFailures))
	var buf [4][96]byte
	var jobs [4][]byte
	for j := range w.jobs {
		job := &w.jobs[j]
		jobs[j] = append(buf[j][:0], byte(job.triggers)<<1|flag(job.covered >= job.newest))
	}
	for i := range w.evals {
		e, p := &w.evals[i], w.view.places[i]
		if e.status != pending && p.copies == 0 {
			continue
		}
		jobs[e.job] = append(jobs[e.job],
			flag(e.status == pending)|flag(e.eval.Wait > 0)<<1|flag(e.lost)<<2|flag(e.eval.Priority > 50)<<3|
				byte(p.where)<<4|w.wouldCover(e.job, e.eval.ModifyIndex)<<7,
			p.deliveries|w.holder(i)<<4, p.pos)
	}
	slices.SortFunc(jobs[:len(w.jobs)], bytes.Compare)
	for _, job := range jobs[:len(w.jobs)] {
		to = append(append(to, job...), 0xff)
	}
	return to
}

// holder describes the worker that has the evaluation; zero: none.
func (w *world) holder(eval int) byte {
	for i := range w.workers {
		if wk := &w.workers[i]; wk.busy && wk.eval == eval {
			return 1 | flag(wk.done)<<1 | w.wouldCover(w.evals[eval].job, wk.snapshot)<<2
		}
	}
	return 0
}

// wouldCover returns 1 if the job is owed a scheduling run and one as of the index is
// new enough.
func (w *world) wouldCover(job uint8, index uint64) byte {
	j := &w.jobs[job]
	return flag(j.covered < j.newest && index >= j.newest)
}

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}
