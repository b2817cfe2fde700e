package pacer

import "time"

// longest is how long a Pacer rests at most. It bounds how old figures can be.
const longest = 10 * time.Second

// Pacer keeps down the share of time that answers to a question take. The zero Pacer never rests. It is for one goroutine.
type Pacer struct {
	Share time.Duration // after an answer it rests for as many times as long as that took
	until time.Time
}

// Rests reports whether nothing should be asked now.
func (p *Pacer) Rests() bool { return time.Now().Before(p.until) }

// Asked notes an answer to a question that was asked at an instant.
func (p *Pacer) Asked(at time.Time) {
	now := time.Now()
	p.until = now.Add(min(p.Share*now.Sub(at), longest))
}
