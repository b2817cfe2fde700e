package language

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestDefine(t *testing.T) {
	def, err := define(whole, map[string]any{"nodes": 99, "quiet": "7s", "fraction": "0.25"})
	if err != nil {
		t.Fatal(err)
	}
	c := def.Cluster.Args.(*testCluster)
	if c.Servers != 5 || c.Reaper.Batch != 100 || c.Reaper.Interval != 2500*time.Millisecond {
		t.Errorf("cluster %+v", c)
	}
	figures := def.Cost.Figures.(*testFigures)
	if figures.Cores != 2 || figures.Fsync != 2*time.Millisecond || figures.Scheduler["system"].Base != 9 || figures.Scheduler["system"].PerNode != 7 {
		t.Errorf("costs %+v: want the class's with the file's over them", figures)
	}
	g := def.Fleet.Groups[0]
	if g.Name != "edge" || g.Nodes != 200 || g.Datacenter != "dc2" || g.Resources.CPU != 100 || g.Attributes["os.name"] != "plan9" {
		t.Errorf("group %+v", g)
	}
	if def.Fleet.ReportAllocations != nil || (def.Fleet.StartDelay != Distribution{"uniform", time.Second, 2 * time.Second}) {
		t.Errorf("fleet %+v: want no say on reports, since the variable is null", def.Fleet)
	}
	if *def.Jobs[0].Count != 2 {
		t.Errorf("ceil(1.1/0.55) is %d, want 2 as for a float64", *def.Jobs[0].Count)
	}
	flap := def.Behaviours[0].Args.(*testFlap)
	if flap.Share != 1 || (flap.Up != Distribution{Kind: "exponential", A: 5 * time.Minute}) || (flap.Down != Distribution{Kind: "constant", A: 30 * time.Second}) {
		t.Errorf("behaviour %+v", flap)
	}
	if def.Phases[0].Name != "first" || def.Phases[1].Name != "last" {
		t.Errorf("phases run as %s, %s; want first, last", def.Phases[0].Name, def.Phases[1].Name)
	}
	var when []time.Duration
	for _, e := range def.Phases[0].Events {
		when = append(when, e.When)
	}
	if want := []time.Duration{0, 7 * time.Second, 10 * time.Second, 14 * time.Second}; !slices.Equal(when, want) {
		t.Errorf("events at %v, want %v", when, want)
	}
	if stop := def.Phases[0].Events[2].Args.(*testStop); stop.Fraction != 0.25 || stop.Group != "edge" {
		t.Errorf("stop %+v", stop)
	}
	if until := def.Phases[0].Until.Args.(*testRecovered); until.For != 7*time.Second {
		t.Errorf("until %+v", until)
	}
	if th := def.Thresholds[0]; th.MaxRatioOf.Text != "legacy" || *th.MaxRatio != 0.1 || th.Max != nil {
		t.Errorf("threshold %+v", th)
	}
	if reflect.DeepEqual(words().Events["stop_clients"], def.Phases[0].Events[2].Args) {
		t.Error("the vocabulary itself was written to")
	}
}

func TestVariablesOfAFile(t *testing.T) {
	f, err := Open("test.hcl", []byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, v := range f.Variables {
		names = append(names, v.Name+" "+v.Type+" "+v.Text())
	}
	want := []string{"nodes integer 50", "fraction number 0.5", "report bool null", "quiet duration 5s"}
	if f.Title != "everything" || !slices.Equal(names, want) {
		t.Errorf("%q with variables %q, want %q", f.Title, names, want)
	}
}

func TestVariablesRefuse(t *testing.T) {
	for _, c := range []struct {
		name    string
		value   any
		allowed string
	}{
		{"nodes", "0", "it must be a whole number from 1 to 1000"},
		{"nodes", "many", "it must be a whole number, such as 50"},
		{"nodes", 1.5, "it must be a whole number, such as 50"},
		{"nodes", "99999999999999999999", "it must be a whole number of at most 18 digits"},
		{"nodes", true, "it must be a whole number, such as 50"},
		{"fraction", "half", "it must be a number, such as 0.5"},
		{"fraction", "NaN", "it must be a number from 0 to 1"},
		{"fraction", 0.001, "at least one client must stop"},
		{"report", "perhaps", "it must be true or false"},
		{"quiet", "5", `it must be a duration, such as "90s" or "1.5ms"`},
		{"quiet", 5, "it must be text"},
		{"node", 5, `the scenario has no such variable; did you mean "nodes"?`},
	} {
		_, err := define(whole, map[string]any{c.name: c.value})
		bad, ok := err.(*VariableError)
		if !ok || bad.Name != c.name || bad.Allowed != c.allowed {
			t.Errorf("%s = %v: %v, want %q", c.name, c.value, err, c.allowed)
		}
	}
}

func TestValuesFile(t *testing.T) {
	values, err := ParseValues("v.hcl", []byte("nodes = 20\nreport = true\nquiet = \"1s\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	def, err := define(whole, values.Of)
	if err != nil {
		t.Fatal(err)
	}
	if def.Fleet.Groups[0].Nodes != 42 || !*def.Fleet.ReportAllocations {
		t.Errorf("fleet %+v", def.Fleet)
	}
	about := values.Errorf("report", "Wrong value", "It is %s.", "wrong").Error()
	for _, part := range []string{"Wrong value", "on v.hcl line 2", "report = true", "It is wrong."} {
		if !strings.Contains(about, part) {
			t.Errorf("error %q does not say %q", about, part)
		}
	}
	for _, bad := range []string{"nodes = ", "nodes { }", "nodes = [1]", "nodes = var.x"} {
		if _, err := ParseValues("v.hcl", []byte(bad)); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestFormat(t *testing.T) {
	got, err := Format("x.hcl", []byte("# why\nphase  \"a\" {\nat=1\n  longer = 2\n}\n"))
	if want := "# why\nphase \"a\" {\n  at     = 1\n  longer = 2\n}\n"; err != nil || string(got) != want {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	again, err := Format("x.hcl", got)
	if err != nil || string(again) != string(got) {
		t.Errorf("formatted again: %q, %v", again, err)
	}
	if _, err := Format("x.hcl", []byte("phase {")); err == nil {
		t.Error("half a block is formatted")
	}
}

func TestSnakeCase(t *testing.T) {
	for name, want := range map[string]string{
		"RPC": "rpc", "FSM": "fsm", "PerKiB": "per_kib", "WaitIndexScan": "wait_index_scan", "Cores": "cores", "ServerLink": "server_link", "CPUTime": "cpu_time",
	} {
		if got := snakeCase(name); got != want {
			t.Errorf("SnakeCase(%s) = %s, want %s", name, got, want)
		}
	}
}
