// Package faults is what befalls servers and the links between machines, and the end of it
// all. A fault that lasts has For: it ends by itself after that time, and its phase not before
// it; zero means until Heal, or until the last phase is over. Faults add up.
//
// It must not import other packages of actions.
package faults
