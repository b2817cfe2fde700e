// Package pacer says when a question that takes servers time may be asked again: simctl asks real servers by it, and
// who watches simulated ones asks as often.
//
// It must not import anything of this module.
package pacer
