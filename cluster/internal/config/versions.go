package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Version is a release of Nomad, such as 1.10.4.
type Version [3]int

// ParseVersion reads a release. The error says which there can be.
func ParseVersion(text string) (Version, error) {
	var v Version
	parts := strings.Split(text, ".")
	for i := range min(len(parts), len(v)) {
		n, err := strconv.ParseUint(parts[i], 10, 16)
		if err != nil || len(parts) != len(v) {
			break
		}
		v[i] = int(n)
	}
	if v.String() != text || v.Compare(oldest) < 0 || v.Compare(newest) > 0 {
		return Version{}, fmt.Errorf("it must be a release of Nomad from %v to %v", oldest, newest)
	}
	return v, nil
}

func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2]) }

// Compare orders releases by their numbers, as cmp.Compare does.
func (v Version) Compare(o Version) int { return slices.Compare(v[:], o[:]) }

// Releases whose differences are known: all from the oldest to the newest.
var (
	oldest = Version{1, 4, 2}
	newest = Version{2, 0, 5}
)
