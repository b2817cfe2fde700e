package uuid

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// TestSet compares the set with a map of strings. The IDs differ in case and length only,
// so that two of them are easily taken for one.
func TestSet(t *testing.T) {
	id := rapid.OneOf(
		rapid.SampledFrom([]string{"", "e1", "AAAAAAAA-0000-4000-8000-000000000000", "aaaaaaaa-0000-4000-8000-000000000000",
			"aaaaaaaa-0000-4000-8000-00000000000", "aaaaaaaa-0000-4000-8000-0000000000000", "aaaaaaaa-0000-4000-8000_000000000000"}),
		rapid.Custom(func(t *rapid.T) string { return Random(rand.NewPCG(rapid.Uint64Max(3).Draw(t, "seed"), 0)) }),
	)
	rapid.Check(t, func(t *rapid.T) {
		var set Set
		want := map[string]bool{}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				id := id.Draw(t, "id")
				if got := set.Add(id); got == want[id] {
					t.Fatalf("add(%q) = %v", id, got)
				}
				want[id] = true
			},
			"remove": func(t *rapid.T) {
				id := id.Draw(t, "id")
				set.Remove(id)
				delete(want, id)
			},
			"clone": func(*rapid.T) {
				old := set
				set = set.Clone()
				old.Add("only in the original")
			},
			"": func(t *rapid.T) {
				if id := id.Draw(t, "id"); set.Has(id) != want[id] {
					t.Fatalf("has(%q) = %v", id, !want[id])
				}
				if n := set.Len(); n != len(want) {
					t.Fatalf("%d IDs, want %d: %s", n, len(want), fmt.Sprint(want))
				}
			},
		})
	})
}
