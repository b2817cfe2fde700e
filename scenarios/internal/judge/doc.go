// Package judge says whether a run went as it should: the invariants, as functions of what the
// servers hold and what an Observer saw; the oracle, an independent model of what must run; and
// what a phase has lost.
//
// It looks and changes nothing. It must not import what runs scenarios.
package judge
