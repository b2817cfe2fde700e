package pacer

import "time"

// longest is how long a Pacer rests at most. It bounds how old figures can be.
const longest = 10 * time.Second

// Pacer limits the share of time that is spent on answers to a question. The zero Pacer never rests. A Pacer is for one
// goroutine.
type Pacer struct {
	Share time.Duration // how many times as long as an answer took it rests after it; a plain number
	until time.Time
}

// Rests reports whether nothing should be asked now.
func (p *Pacer) Rests() bool { return time.Now().Before(p.until) }

// Asked notes an answer to a question that was asked at an instant.
func (p *Pacer) Asked(at time.Time) {
	now := time.Now()
	p.until = now.Add(min(p.Share*now.Sub(at), longest))
}
