package fsm

import (
	"reflect"
	"testing"

	"github.com/simctl/simctl/broker"
)

// TestWithoutEvals: of every type of entry, all evaluations are taken out.
func TestWithoutEvals(t *testing.T) {
	one, list := reflect.TypeFor[*broker.Evaluation](), reflect.TypeFor[[]*broker.Evaluation]()
	carriers := 0
	for i, k := range kinds {
		if k.decode == nil {
			continue
		}
		req, err := k.decode([]byte{0x90}) // no field has a value
		if err != nil {
			t.Fatalf("%s: %v", k.name, err)
		}
		e := &broker.Evaluation{ID: "e"}
		put := 0
		fields := reflect.ValueOf(req).Elem()
		for f := range fields.NumField() {
			switch fields.Field(f).Type() {
			case one:
				fields.Field(f).Set(reflect.ValueOf(e))
				put++
			case list:
				fields.Field(f).Set(reflect.ValueOf([]*broker.Evaluation{e, e}))
				put += 2
			}
		}
		if put > 0 {
			carriers++
		}
		rest, evals, ok := Command{Type(i), req}.WithoutEvals()
		if ok != (Type(i) != EvalUpdate.Type) || len(evals) != put {
			t.Errorf("%s: %d evaluations of %d are taken out, and is there a rest: %t", k.name, len(evals), put, ok)
		}
		if !ok {
			continue
		}
		if _, again, _ := rest.WithoutEvals(); len(again) > 0 {
			t.Errorf("%s: %d evaluations are left", k.name, len(again))
		}
	}
	if carriers < 8 {
		t.Errorf("%d types of entries carry evaluations, want the 8 that there were or more", carriers)
	}
}
