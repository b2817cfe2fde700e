// Package agenda knows what happens next on a stage: events, each at its time or when the one
// before is through, those that found no leader once more, and the ends of faults.
package agenda
