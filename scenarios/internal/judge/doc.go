// Package judge says whether a run went as it should. The invariants are functions of what the
// servers hold and what an Observer saw. One of them consults the oracle, an independent model
// of what must run. Losses follows the allocations that nodes took down with them.
//
// The package changes nothing. It must not import what runs scenarios.
package judge
