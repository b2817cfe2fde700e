// Package clients is actions on clients: starting them, silencing them and bringing them
// back, their clocks, and what they do by themselves.
//
// It must not import other packages of actions.
package clients
