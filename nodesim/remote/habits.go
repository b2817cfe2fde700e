package remote

import (
	"cmp"
	"fmt"
	"time"

	"golang.org/x/mod/semver"

	"github.com/simctl/simctl/nodesim"
)

// habits is what clients do from one release on.
type habits struct {
	since string
	// tokens: every call but the first registration has the node's token. Before, only
	// Alloc.GetAllocs has, and Node.GetClientAllocs has a field for the secret.
	tokens bool
	// identities: a token that the server signs takes the place of the node's secret, and an
	// introduction token may go with the first registration.
	identities bool
	// typical is how long updates of allocations wait if they are not urgent; zero = no longer than others.
	typical time.Duration
	// shortens: a watch that is made again shortens those after it.
	shortens bool
	// fresh: an answer to a watch that tells nothing new is ignored.
	fresh bool
}

// releases is all that is known of how releases differ, in their order.
var releases = []habits{
	{since: "1.4.0", shortens: true},
	{since: "1.4.13", shortens: true, fresh: true},
	{since: "1.5.0", shortens: true},
	{since: "1.5.9", shortens: true, fresh: true},
	{since: "1.6.0", tokens: true, typical: time.Second, shortens: true},
	{since: "1.6.2", tokens: true, typical: time.Second, shortens: true, fresh: true},
	{since: "1.9.6", tokens: true, typical: time.Second, fresh: true},
	{since: "1.11.0", tokens: true, typical: time.Second, fresh: true, identities: true},
}

// NewestRelease is the newest release whose clients were looked at.
const NewestRelease = "2.0.5"

// habitsOf returns the habits of the clients of a release.
func habitsOf(release string) (habits, error) {
	v := "v" + release
	if !semver.IsValid(v) || semver.Canonical(v) != v {
		return habits{}, fmt.Errorf("release %q: it must have three numbers, such as %s", release, NewestRelease)
	}
	for i := len(releases) - 1; i >= 0; i-- {
		if semver.Compare(v, "v"+releases[i].since) >= 0 {
			return releases[i], nil
		}
	}
	return habits{}, fmt.Errorf("release %q: it must be %s or later", release, releases[0].since)
}

// SetHabits gives clients the habits of those of a release, where nothing else was said.
//
// Real clients spread their first heartbeats, but the answer to the first GetClientAllocs ends that
// wait. Clients that do not report make no such call, so they heartbeat at once.
func SetHabits(fleet *nodesim.Config, release string) error {
	h, err := habitsOf(release)
	if err != nil {
		return err
	}
	fleet.AllocSyncTypical, fleet.RetriesShorten, fleet.IgnoresStale = h.typical, h.shortens, h.fresh
	if fleet.ReportAllocs {
		fleet.FirstHeartbeat = cmp.Or(fleet.FirstHeartbeat, 10*time.Second)
	}
	return nil
}
