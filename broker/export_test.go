package broker

// Jobs returns how many jobs the broker remembers.
func (b *EvalBroker) Jobs() int { return len(b.jobs) }
