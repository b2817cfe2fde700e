package sweep

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/simctl/simctl/scenarios"
	"github.com/simctl/simctl/scenarios/language"
)

// variables are those of the heartbeat storm.
func variables(t testing.TB) []language.Variable {
	t.Helper()
	vars, err := base().Variables()
	if err != nil {
		t.Fatal(err)
	}
	return append(vars, language.Variable{Name: "hold", Type: language.TypeDuration})
}

func base() scenarios.Spec { return scenarios.Spec{Scenario: "heartbeat-storm", Seed: 1} }

func TestParseAxis(t *testing.T) {
	for text, want := range map[string]string{
		"nodes=1000,2000,5000":             "1000 2000 5000",
		"nodes=2000, 1000,1000,2e3":        "1000 2000",
		"system-jobs=1..100:log5":          "1 3 10 32 100",
		"system_jobs=1..4:log9":            "1 2 3 4",
		"nodes=1000..2000:lin3":            "1000 1500 2000",
		"nodes=100..1000:+400":             "100 500 900",
		"nodes=7,100..300:+100":            "7 100 200 300",
		"fraction=0.1,0.25,1":              "0.1 0.25 1",
		"fraction=0.001..1:log4":           "0.001 0.01 0.1 1",
		"heartbeat_grace_s=5s,10,30s":      "5 10 30",
		"reaper_batch=182,728":             "182 728",
		"hold=5s,2m,0.5":                   "0.5 5 120",
		"cost=loopback,published,loopback": "loopback published",
		"report_allocations=true,false":    "true false",
		"allocs_per_node=0.1234567":        "0.1234567",
		"allocs_per_node=0..1:lin4":        "0 0.333333 0.666667 1",
		"nodes=1000001..1000003:lin3":      "1000001 1000002 1000003",
	} {
		a, err := parseAxis(text, variables(t))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := strings.Join(a.Values, " "); got != want || a.Range != nil {
			t.Errorf("%s has values %q and range %v, want %q", text, got, a.Range, want)
		}
	}
	if hold, err := parseAxis("hold=5s,2m", variables(t)); err != nil || strings.Join(hold.Values, hold.unit()+" ")+hold.unit() != "5s 120s" {
		t.Errorf("durations are %+v (%v)", hold, err)
	}
	open, err := parseAxis("nodes=100..20000", variables(t))
	if err != nil || open.Range == nil || *open.Range != (Range{100, 20000}) || len(open.Values) > 0 {
		t.Errorf("a range alone is %+v (%v)", open, err)
	}
}

func TestBadAxes(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "is no axis",
		"nodes":                    "is no axis",
		"=1,2":                     "is no axis",
		"noddes=1,2":               `unknown axis "noddes"`,
		"nodes=":                   "an empty value",
		"nodes=1,,2":               "an empty value",
		"nodes=many":               `"many" is not a whole number`,
		"nodes=1.5":                `"1.5" is not a whole number`,
		"nodes=5s":                 `"5s" is not a whole number`,
		"hold=soon":                `"soon" is not a duration`,
		"nodes=NaN":                `"NaN" is not a whole number`,
		"fraction=Inf":             `"Inf" is not a number`,
		"fraction=10%":             `"10%" is not a number: write it as 0.1`,
		"nodes=5..5":               "is empty",
		"nodes=10..1:log3":         "is empty",
		"nodes=1..x":               `"x" is not a whole number`,
		"nodes=1..10:":             `"" does not say which values`,
		"nodes=1..10:exp5":         `"exp5" does not say which values`,
		"nodes=1..10:log":          "number of values from 2",
		"nodes=1..10:log1":         "number of values from 2",
		"nodes=1..10:lin99999":     "number of values from 2",
		"system_jobs=0..9:log3":    "needs numbers above 0",
		"nodes=1..10:+0":           "above 0",
		"nodes=1..10:+-1":          "above 0",
		"nodes=1..99999:+1":        "more than 1000 values",
		"nodes=5,1..10":            "must say which of its values",
		"report_allocations=maybe": "neither true nor false",
	} {
		_, err := parseAxis(text, variables(t))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: error %v, want one line that says %q", text, err, want)
		}
	}
}

// FuzzParseAxis holds that whatever is read is a list of values that reads as itself.
func FuzzParseAxis(f *testing.F) {
	for _, seed := range []string{"nodes=1,2", "system_jobs=1..100:log5", "fraction=0..1:lin4", "nodes=1..9:+2", "cost=a,b", "nodes=1..2..3", "fraction=-0,0", "nodes=1e300"} {
		f.Add(seed)
	}
	vars := variables(f)
	f.Fuzz(func(t *testing.T, text string) {
		a, err := parseAxis(text, vars)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("the error of %q has more than one line: %v", text, err)
			}
			return
		}
		if (a.Range == nil) == (len(a.Values) == 0) || len(a.Values) > mostValues {
			t.Fatalf("%q has %d values and range %v", text, len(a.Values), a.Range)
		}
		if a.Range != nil {
			if !(a.Range.Low < a.Range.High) {
				t.Errorf("%q is the empty range %v", text, a.Range)
			}
			return
		}
		again, err := parseAxis(a.Name+"="+strings.Join(a.Values, ","), vars)
		if err != nil || !slices.Equal(again.Values, a.Values) {
			t.Errorf("%q reads as %q and then as %q (%v)", text, a.Values, again.Values, err)
		}
		for i := 1; a.numeric() && i < len(a.Values); i++ {
			x, _ := strconv.ParseFloat(a.Values[i-1], 64)
			y, _ := strconv.ParseFloat(a.Values[i], 64)
			if x >= y {
				t.Errorf("%q does not ascend: %q", text, a.Values)
			}
		}
	})
}

func TestRangesOfPoints(t *testing.T) {
	if points, err := (Range{-10, -1}).points("+3"); fmt.Sprint(points) != "[-10 -7 -4 -1]" {
		t.Errorf("steps of 3 from -10 to -1 are %v (%v)", points, err)
	}
	rapid.Check(t, func(t *rapid.T) {
		r := Range{Low: rapid.Float64Range(0.001, 1e6).Draw(t, "low")}
		r.High = r.Low * rapid.Float64Range(1.01, 1e4).Draw(t, "factor")
		n := rapid.IntRange(2, 100).Draw(t, "n")
		for _, step := range []string{"lin", "log"} {
			points, err := r.points(step + strconv.Itoa(n))
			if err != nil || len(points) != n || points[0] != r.Low {
				t.Fatalf("%s%d of %v: %d points from %v (%v)", step, n, r, len(points), points, err)
			}
			if last := points[n-1]; last < r.High*(1-1e-9) || last > r.High*(1+1e-9) {
				t.Errorf("%s%d of %v ends at %v", step, n, r, last)
			}
			if !slices.IsSorted(points) {
				t.Errorf("%s%d of %v does not ascend: %v", step, n, r, points)
			}
		}
	})
}
