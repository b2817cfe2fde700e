package fsm

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestDescribe: whatever changes the bytes of an encoded value changes its description, and its
// name and what is never encoded do not.
func TestDescribe(t *testing.T) {
	type tree struct{ Left, Right *tree }
	type inner struct{ Same *inner }
	type outer struct{ In inner }
	type other struct{ In struct{ Same *other } }
	type named struct{ A []int }
	of := func(v any) string {
		var text strings.Builder
		describe(&text, reflect.TypeOf(v), nil)
		return text.String()
	}
	seen := map[string]any{}
	for _, v := range []any{
		struct{ A []int }{}, struct{ A []int32 }{}, struct{ B []int }{}, struct{ A, B []int }{}, struct {
			A []int `codec:"a"`
		}{}, struct{ A map[string]int }{}, struct{ A map[int]string }{}, struct{ A map[int]int }{}, struct{ A [2]int }{}, struct{ A [2]int32 }{}, struct{ A [3]int }{}, tree{}, outer{}, other{},
	} {
		if before, ok := seen[of(v)]; ok {
			t.Errorf("%T and %T are both described as %q", v, before, of(v))
		}
		seen[of(v)] = v
	}
	if a, b := of(struct{ A []int }{}), of(named{}); a != b {
		t.Errorf("with a name it is %q, without %q", a, b)
	}
	if a, b := of(named{}), of(struct {
		A []int
		b int
	}{}); a != b {
		t.Errorf("with a field that is not encoded it is %q, without %q", b, a)
	}
	if names := Types(); slices.Contains(names, "") || !slices.Contains(names, "NodeRegisterRequestType") || !slices.Contains(names, "raft:Noop") {
		t.Errorf("the types are %q", names)
	}
	if a, b := Layout(), Layout(); a != b || len(a) != 32 {
		t.Errorf("layout %q, then %q", a, b)
	}
}
