package scenarios

import (
	"fmt"
	"strings"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/scenarios/designs"
)

// releaseNamed returns the release of that name: a version, or the name of a profile. A name of
// a broker's policy is none.
func releaseNamed(name string) (cluster.Version, bool) {
	for _, p := range cluster.Profiles() {
		if _, err := broker.PolicyByName(p.Name); p.Name == name && err != nil {
			return p.Version, true
		}
	}
	v, err := cluster.ParseVersion(name)
	return v, err == nil
}

// policyOf returns the policy of a release's broker.
func policyOf(v cluster.Version) broker.Policy {
	if sheds := releaseOf(broker.Shedding()); v.Compare(sheds) >= 0 {
		return broker.Shedding()
	}
	return broker.Legacy()
}

// releaseOf returns the release that brought a policy. Those that none has are tried out on the
// one that sheds.
func releaseOf(p broker.Policy) cluster.Version {
	v, err := cluster.ParseVersion(p.Release())
	if err != nil {
		return releaseOf(broker.Shedding())
	}
	return v
}

// brokerSyntax returns a phrase that says what --broker accepts beside a scenario's own.
func brokerSyntax() string {
	profiles := cluster.Profiles()
	newest := profiles[len(profiles)-1]
	return fmt.Sprintf("%s; or a release of Nomad from %v to %v, the last of which is also called %s; or one of these with designs: %s",
		broker.PolicySyntax(), profiles[0].Version, newest.Version, newest.Name, strings.Join(designs.Words(), ", "))
}

// BrokerNames returns names of brokers to choose from.
func BrokerNames() []string {
	names := broker.PolicyNames()
	for _, p := range cluster.Profiles() {
		if _, ok := releaseNamed(p.Name); ok {
			names = append(names, p.Name)
		}
	}
	return names
}

// Releases returns the releases that profiles are of, the oldest first.
func Releases() []string {
	var names []string
	for _, p := range cluster.Profiles() {
		names = append(names, p.Version.String())
	}
	return names
}

// CheckBroker returns an error unless every scenario knows the broker.
func CheckBroker(name string) error {
	_, err := profiles{}.of(name)
	return err
}

// AwaitsReports reports whether servers of a broker's release wait for a client that was
// disconnected to report its allocations before its node is ready. A broker that only some scenarios
// know has no release here.
func AwaitsReports(broker string) bool {
	p, err := profiles{}.of(broker)
	return err == nil && cluster.HabitsOf(p.release).AwaitsReports()
}

// CheckRelease returns an error unless the text is a release of Nomad.
func CheckRelease(text string) error {
	_, err := cluster.ParseVersion(text)
	return err
}

// DescribeReleases returns the releases that have names and, for each difference between
// releases, since when it is there and where it comes from. Given a release it returns the
// differences that this one has. The error says which releases there are.
func DescribeReleases(release string) (string, error) {
	var b strings.Builder
	newest := cluster.Profiles()[len(cluster.Profiles())-1].Version
	if release != "" {
		v, ok := releaseNamed(release)
		if p, err := broker.PolicyByName(release); err == nil {
			v, ok = releaseOf(p), true
		}
		if !ok {
			_, err := cluster.ParseVersion(release)
			return "", err
		}
		newest = v
		fmt.Fprintf(&b, "%v\n", v)
	} else {
		for _, p := range cluster.Profiles() {
			fmt.Fprintf(&b, "%-8s  %v, %s\n", p.Name, p.Version, p.Is)
		}
	}
	for _, c := range cluster.ChangesUntil(newest) {
		var since []string
		for _, v := range c.Since {
			since = append(since, v.String())
		}
		fmt.Fprintf(&b, "\nsince %s (#%d; %s)\n  %s:\n  %s\n", strings.Join(since, ", "), c.Pull, c.Where, c.What, c.Counts)
	}
	return b.String(), nil
}
