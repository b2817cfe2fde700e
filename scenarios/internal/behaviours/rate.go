package behaviours

import "time"

// Acts returns how often clients of these groups act in so long, on average; zero if that is
// not known. Clients that act together count one by one.
func (b *Behaviour) Acts(groups []Group, d time.Duration) float64 {
	clients := b.Share * float64(Nodes(groups, b.Group))
	switch r := b.Routine.(type) {
	case flap:
		return 2 * clients * times(d, r.Up.Mean()+r.Down.Mean())
	case stop:
		return clients * min(times(d, r.After.Mean()), 1)
	case churn:
		return clients * times(d, r.Every.Mean())
	case fingerprint:
		return clients * times(d, r.Every.Mean())
	case trace:
		n := 0.0
		for _, changes := range r {
			for _, c := range changes {
				if c.At <= d {
					n++
				}
			}
		}
		return n
	}
	return 0
}

// Away returns how many clients of these groups are away on average.
func (b *Behaviour) Away(groups []Group) float64 {
	if r, ok := b.Routine.(flap); ok {
		return b.Share * float64(Nodes(groups, b.Group)) * times(r.Down.Mean(), r.Up.Mean()+r.Down.Mean())
	}
	return 0
}

func times(d, each time.Duration) float64 { return float64(d) / float64(max(each, time.Nanosecond)) }
