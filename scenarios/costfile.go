package scenarios

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/simctl/simctl/scenarios/language"
)

// A cost file has an attribute for every figure of cluster.Costs and a block for every
// group of them, named as in Go but in snake case: rpc { wait_index_scan = "0.1us" }. The
// correspondence is by reflection, so that a new figure of the model needs no second
// place here. Any body may say where its figures come from in an attribute "source".

var durationType = reflect.TypeFor[time.Duration]()

// figures calls fn for every figure that is not zero, by its path in a file.
func figures(target any, fn func(path string, value any)) {
	walk("", reflect.ValueOf(target).Elem(), func(path string, v reflect.Value) {
		if !v.IsZero() {
			fn(path, v.Interface())
		}
	})
}

func walk(prefix string, v reflect.Value, leaf func(string, reflect.Value)) {
	for name, f := range language.Fields(v) {
		switch f.Kind() {
		case reflect.Struct:
			walk(prefix+name+".", f, leaf)
		case reflect.Map:
			keys := f.MapKeys()
			slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
			for _, k := range keys {
				elem := reflect.New(f.Type().Elem()).Elem()
				elem.Set(f.MapIndex(k))
				walk(prefix+name+"."+k.String()+".", elem, leaf)
				f.SetMapIndex(k, elem)
			}
		default:
			leaf(prefix+name, f)
		}
	}
}

// scaleDurations returns a copy of a struct of figures with its durations multiplied.
func scaleDurations[T any](figures T, factor float64) T {
	v := reflect.ValueOf(&figures).Elem()
	for _, f := range language.Fields(v) {
		if f.Kind() == reflect.Map { // shared with the original
			fresh := reflect.MakeMap(f.Type())
			for _, k := range f.MapKeys() {
				fresh.SetMapIndex(k, f.MapIndex(k))
			}
			f.Set(fresh)
		}
	}
	walk("", v, func(_ string, f reflect.Value) {
		if f.Type() == durationType {
			f.SetInt(int64(float64(f.Int()) * factor))
		}
	})
	return figures
}
