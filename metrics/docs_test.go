package metrics

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// TestFormatIsDocumented holds docs/result-format.md to the Result: it names every field
// and every series that a run records.
func TestFormatIsDocumented(t *testing.T) {
	data, err := os.ReadFile("../docs/result-format.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(data)
	seen := map[reflect.Type]bool{}
	var walk func(reflect.Type)
	walk = func(typ reflect.Type) {
		for typ.Kind() == reflect.Slice || typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Map {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || seen[typ] {
			return
		}
		seen[typ] = true
		for i := range typ.NumField() {
			f := typ.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name != "" && name != "-" && !strings.Contains(doc, "`"+name+"`") {
				t.Errorf("docs/result-format.md does not say what `%s` of %s is", name, typ.Name())
			}
			walk(f.Type)
		}
	}
	walk(reflect.TypeFor[Result]())
	for _, name := range []string{SeriesReady, SeriesUnacked, SeriesPending, SeriesWaiting, SeriesCancelable, SeriesRaftIndex,
		SeriesCompleted, SeriesCanceled, SeriesFailed, SeriesNodesReady, SeriesNodesDown, SeriesHeartbeats, SeriesPlanQueue, SeriesCPU,
		SeriesNodesInit, SeriesNodesDisconnected, SeriesWorkers, LatencyWait, LatencyProcess, LatencyResponse} {
		// Of names that begin alike the later ones are cut to …last.
		last := name[strings.LastIndex(name, ".")+1:]
		short := strings.Contains(doc, "`…"+strings.TrimPrefix(last, "total_")+"`")
		if !short && !strings.Contains(doc, "`"+name+"`") {
			t.Errorf("docs/result-format.md does not name %s", name)
		}
	}
}
