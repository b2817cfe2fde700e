package broker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Policy is what differs between evaluation brokers: the order of one job's pending
// evaluations, and which of them an Ack makes superfluous.
//
// A Policy has no state of its own, so one value may serve many brokers at once. It must
// not look at evaluation IDs or job names, for then what package explore proves does not
// hold for it.
//
// A policy is one file, such as policy_shedding.go: a type with these methods, and an init
// function that registers it. From then on PolicyByName, the command line and scenario
// files know it by its name, alone and combined with changes and quirks.
type Policy interface {
	// String returns the policy's name.
	String() string
	// Release returns the release of Nomad that brought the policy, such as 1.4.3. It is
	// empty for a policy that no release has.
	Release() string
	// Less orders one job's pending evaluations, the best first. It must be a strict weak
	// ordering that depends on nothing but the two. The broker breaks ties by ID.
	Less(a, b *Evaluation) bool
	// Shed is called on a successful Ack with the pending evaluations of the acked job. It
	// removes from them what is not needed any more, and returns that. The best of the
	// rest then becomes ready. The result must list each removed evaluation once, in an
	// order that does not depend on map iteration. The slice becomes the broker's.
	Shed(pending PendingEvaluations) (cancelable []*Evaluation)
}

// EnqueueShedder is a Policy that also sheds while its job is busy. The evaluation in
// flight may work on a snapshot that is older than the pending evaluations, so shedding
// all of them loses a wake-up.
type EnqueueShedder interface {
	Policy
	// ShedOnEnqueue is called after an evaluation became pending. Its contract is that of
	// Shed, but nothing becomes ready.
	ShedOnEnqueue(pending PendingEvaluations) (cancelable []*Evaluation)
}

// registration is a policy that PolicyByName knows, and a line about it.
type registration struct {
	Policy
	description string
}

// registry has the policies of Nomad's releases and then the others, each sorted by name.
var registry []registration

// register makes a policy known by its name. The description says in one line, for
// docs/policies.md, what the policy does.
func register(p Policy, description string) {
	if _, taken := registered(p.String()); taken || strings.ContainsAny(p.String(), "+,") {
		panic(fmt.Sprintf("broker: policy %q: another one has this name, or it contains a plus sign or comma", p))
	}
	registry = append(registry, registration{p, description})
	slices.SortFunc(registry, func(a, b registration) int {
		if (a.Release() == "") != (b.Release() == "") {
			return cmp.Compare(b.Release(), a.Release())
		}
		return cmp.Compare(a.String(), b.String())
	})
}

func registered(name string) (Policy, bool) {
	for _, r := range registry {
		if r.String() == name {
			return r.Policy, true
		}
	}
	return nil, false
}
