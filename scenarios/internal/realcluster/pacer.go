package realcluster

import "time"

// pacer keeps down the share of the servers' time that a question takes. A leader looks at each evaluation to
// count those of a status, and while 2,000 clients fell silent it spent 9% of its processor time on what
// was asked every second. The zero pacer never rests.
type pacer struct {
	share time.Duration // after an answer it rests for as many times as long as that took
	until time.Time
}

const (
	// shareOfAnswers is the share of all pacers: answers take up to a twenty-fifth of the time.
	shareOfAnswers = 25
	// longestRest bounds how old figures can be.
	longestRest = 10 * time.Second
)

// rests reports whether nothing should be asked now.
func (p *pacer) rests() bool { return time.Now().Before(p.until) }

// asked notes an answer to a question that was asked at an instant.
func (p *pacer) asked(at time.Time) {
	now := time.Now()
	p.until = now.Add(min(p.share*now.Sub(at), longestRest))
}
