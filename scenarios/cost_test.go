package scenarios

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/simnet"
)

const sampleCost = `
class  = "mine"
title  = "my machines"
source = "my measurements"
cores  = 2
pooled = true
fsync  = "0.2ms"
fleet {
  report_allocations = true
  source             = "as measured"
}
client_link {
  latency = "1ms"
  loss    = 0.01
}
rpc {
  wait_index_scan = "0.1us"
  source          = "a text that nothing but people read"
}
raft { per_kib = "3us" }
scheduler "system" { per_node = "2.2us" }
scheduler "service" { base = "1ms" }
`

func TestParseCost(t *testing.T) {
	got, err := parseCost("mine.hcl", []byte(sampleCost), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := &Cost{
		Class: "mine", Title: "my machines", Source: "my measurements", ReportAllocs: true,
		Costs: cluster.Costs{
			Cores: 2, Pooled: true, Fsync: 200 * time.Microsecond,
			ClientLink: simnet.Link{Latency: time.Millisecond, Loss: 0.01},
			RPC:        cluster.RPCCosts{WaitIndexScan: 100},
			Raft:       cluster.RaftCosts{PerKiB: 3 * time.Microsecond},
			Scheduler:  map[string]cluster.SchedulerCosts{"system": {PerNode: 2200}, "service": {Base: time.Millisecond}},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("parsed %+v, want %+v", got, want)
	}
}

// TestCostText: a class reads back as it was written, and its times multiplied.
func TestCostText(t *testing.T) {
	for _, name := range CostNames() {
		want, err := loadCost(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		text := want.Text(func(string) float64 { return 1 })
		got, err := parseCost("written.hcl", text, nil, nil)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: read back %+v, %v, want %+v, from\n%s", name, got, err, want, text)
		}
		twice, err := parseCost("written.hcl", want.Text(func(path string) float64 {
			if path == "scheduler.system.base" || path == "fsync" {
				return 2
			}
			return 1
		}), nil, nil)
		system := want.Costs.Scheduler["system"]
		if err != nil || twice.Costs.Fsync != 2*want.Costs.Fsync || twice.Costs.Scheduler["system"].Base != 2*system.Base || twice.Costs.Raft != want.Costs.Raft {
			t.Errorf("%s: two costs twice as high: %+v, %v", name, twice, err)
		}
	}
}

func TestBadCostFilesSayWhere(t *testing.T) {
	cases := []struct{ old, new, want string }{
		{`fsync  = "0.2ms"`, `fsyn = "0.2ms"`, `on mine.hcl line 7: 7: fsyn = "0.2ms" An argument named "fsyn" is not expected here. Did you mean "fsync"?`},
		{`fsync  = "0.2ms"`, `fsync = "fast"`, `on mine.hcl line 7: 7: fsync = "fast" fsync: "fast" is no duration`},
		{`fsync  = "0.2ms"`, `fsync = "-1ms"`, `-1ms is negative`},
		{`cores  = 2`, `cores = -1`, `cores is -1; it must be 0 or more`},
		{`cores  = 2`, `cores = 2.5`, `cores is 2.5; it must be a whole number`},
		{`cores  = 2`, "cores = 2\ngarbage = -0.5", `garbage is -0.5; it must be 0 or more`},
		{`cores  = 2`, "cores = 2\ncollection {\n garbage = 0.5\n}", `mine.hcl: collection.garbage is 0.5, and nothing lives: set base_kib`},
		{`raft { per_kib = "3us" }`, "raft {\n plan_garbage = 0.9\n}", `mine.hcl: raft.plan_garbage is 0.9, and collection has no garbage: set it, too`},
		{`cores  = 2`, "cores = 2\ncollection {\n others = 0.06\n}", `mine.hcl: collection.others is 0.06, and collection has no garbage: set it, too`},
		{`cores  = 2`, "cores = 2\nfsm {\n garbage = 0.1\n}", `mine.hcl: fsm.garbage is 0.1, and collection has no garbage: set it, too`},
		{`scheduler "service" { base = "1ms" }`, "scheduler \"service\" {\n garbage = 0.2\n}", `mine.hcl: scheduler.service.garbage is 0.2, and collection has no garbage: set it, too`},
		{`cores  = 2`, `cores = [1]`, `cores must be a number`},
		{`pooled = true`, `pooled = 3`, `pooled must be true or false`},
		{`raft {`, `rafts {`, `Did you mean "raft"?`},
		{`raft {`, `rpc {`, `There is a second rpc block`},
		{`scheduler "service"`, `scheduler "system"`, `There is a second scheduler system block`},
		{`scheduler "service"`, `scheduler "sevice"`, `"sevice" is no type of job`},
		{`class  = "mine"`, ``, `needs a class and a source`},
		{`class  = "mine"`, `class = `, `mine.hcl line 2`},
	}
	for _, c := range cases {
		text := strings.Replace(sampleCost, c.old, c.new, 1)
		if _, err := parseCost("mine.hcl", []byte(text), nil, nil); err == nil || !strings.Contains(strings.Join(strings.Fields(err.Error()), " "), c.want) {
			t.Errorf("%s for %s: error %v, want one that says %q", c.new, c.old, err, c.want)
		}
	}
}

func TestBuiltInCosts(t *testing.T) {
	for _, name := range CostNames() {
		c, err := loadCost(name, os.ReadFile)
		if err != nil {
			t.Error(err)
			continue
		}
		if c.Class != name || c.Title == "" || c.Costs.Cores <= 0 || c.Costs.Scheduler["system"].Base <= 0 || c.Costs.Scheduler["service"].Base <= 0 {
			t.Errorf("class %s is incomplete: %+v", name, c)
		}
	}
	if def, err := loadCost("", os.ReadFile); err != nil || def.Class != DefaultCost {
		t.Errorf("no name gives %+v (%v), want %s", def, err, DefaultCost)
	}
}

func TestLoadCostFromAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mine.hcl")
	if err := os.WriteFile(path, []byte(sampleCost), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := loadCost(path, os.ReadFile)
	if err != nil || c.Class != "mine" {
		t.Errorf("loaded %+v, %v", c, err)
	}
	if err := os.WriteFile(path, []byte("cores = -1"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = loadCost(path, os.ReadFile)
	if input, is := errors.AsType[*InputError](err); !is || input.Input != InputCost || !strings.Contains(input.Allowed, "cores is -1; it must be 0 or more") {
		t.Errorf("error %v, want an InputError of the cost that says what is wrong", err)
	}
}

// TestCostBuildsOnAnother: a file replaces single figures of the class it names, which may build on
// one more.
func TestCostBuildsOnAnother(t *testing.T) {
	files := map[string]string{
		"lab/mine.hcl":   sampleCost,
		"lab/fast.hcl":   "class = \"fast\"\nsource = \"a guess\"\nbase = \"mine.hcl\"\nfsync = \"50us\"\nscheduler \"system\" { base = \"2ms\" }\n",
		"faster.hcl":     "class = \"faster\"\nsource = \"a guess\"\nbase = \"lab/fast.hcl\"\ncores = 8\nfleet { report_allocations = false }\n",
		"eight.hcl":      "class = \"eight\"\nsource = \"a guess\"\nbase = \"published\"\ncores = 8\n",
		"itself.hcl":     "class = \"x\"\nsource = \"x\"\nbase = \"lab/circle.hcl\"\n",
		"lab/circle.hcl": "class = \"x\"\nsource = \"x\"\nbase = \"../itself.hcl\"\n",
		"unknown.hcl":    "class = \"x\"\nsource = \"x\"\nbase = \"publishd\"\n",
		"lost.hcl":       "class = \"x\"\nsource = \"x\"\nbase = \"gone.hcl\"\n",
		"nameless.hcl":   "base = \"published\"\n",
	}
	read := func(path string) ([]byte, error) {
		if text, ok := files[filepath.ToSlash(path)]; ok {
			return []byte(text), nil
		}
		return nil, os.ErrNotExist
	}
	mine, err := loadCost("lab/mine.hcl", read)
	if err != nil {
		t.Fatal(err)
	}
	want := *mine
	want.Class, want.Title, want.Source, want.ReportAllocs = "faster", "", "a guess", false
	want.Costs.Cores, want.Costs.Fsync = 8, 50*time.Microsecond
	want.Costs.Scheduler = map[string]cluster.SchedulerCosts{"system": {Base: 2 * time.Millisecond, PerNode: 2200}, "service": {Base: time.Millisecond}}
	if got, err := loadCost("faster.hcl", read); err != nil || !reflect.DeepEqual(got, &want) {
		t.Errorf("read %+v, %v, want %+v", got, err, &want)
	}
	published, err := loadCost("published", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := loadCost("eight.hcl", read); err != nil || got.Costs.Cores != 8 || got.Costs.Fsync != published.Costs.Fsync || got.ReportAllocs != published.ReportAllocs {
		t.Errorf("read %+v, %v, want published with eight cores", got, err)
	}
	for name, text := range map[string]string{
		"itself.hcl":   `lab/circle.hcl: base = "../itself.hcl": the file builds on itself; name another class`,
		"unknown.hcl":  `unknown.hcl: base = "publishd": it must be loopback, loopback-2.0.5, published or the path of a .hcl file`,
		"lost.hcl":     `lost.hcl: base = "gone.hcl": the file cannot be read`,
		"nameless.hcl": "needs a class and a source",
	} {
		if _, err := loadCost(name, read); err == nil || !strings.Contains(filepath.ToSlash(err.Error()), text) {
			t.Errorf("%s: error %v, want one that says %q", name, err, text)
		}
	}
}

// TestFasterProcessors: they take less time for the same work, which leaves the same garbage. What is not theirs
// stays, and what the file says itself is as it says.
func TestFasterProcessors(t *testing.T) {
	files := map[string]string{
		"base.hcl": `class = "base"
source = "a test"
cores = 2
fsync = "1ms"
exit_latency = "60us"
thread_wake = "45us"
server_link { latency = "2ms" }
client_link { latency = "3ms" }
idle = "40ms"
rpc {
  serve = "100us"
  wake = "50us"
}
raft {
  dispatch = "300us"
  plan_garbage = 0.8
}
fsm {
  place = "80us"
  garbage = 0.15
}
collection {
  base = "30ms"
  garbage = 0.3
  others = 0.06
  base_kib = 12000
}
scheduler "system" {
  base = "80us"
  per_node = "2us"
  half_cached = 185
  garbage = 0.2
}
`,
		"twice.hcl": "class = \"twice\"\nsource = \"a test\"\nbase = \"base.hcl\"\nspeed = 2\n",
		"again.hcl": "class = \"again\"\nsource = \"a test\"\nbase = \"twice.hcl\"\nspeed = 0.5\n",
		"alone.hcl": "class = \"alone\"\nsource = \"a test\"\nspeed = 2\n",
		"light.hcl": "class = \"light\"\nsource = \"a test\"\nbase = \"base.hcl\"\nspeed = 1e9\n",
		"still.hcl": "class = \"still\"\nsource = \"a test\"\nbase = \"base.hcl\"\nspeed = 1e-300\n",
	}
	read := func(path string) ([]byte, error) { return []byte(files[path]), nil }
	base, err := loadCost("base.hcl", read)
	if err != nil {
		t.Fatal(err)
	}
	want := base.Costs
	want.RPC.Serve, want.Raft.Dispatch, want.Collection.Base = 50*time.Microsecond, 150*time.Microsecond, 15*time.Millisecond
	want.Collection.Others = 0.12
	want.Raft.PlanGarbage, want.Collection.Garbage, want.FSM.Garbage, want.FSM.Place = 1.6, 0.6, 0.3, 40*time.Microsecond
	want.Scheduler = map[string]cluster.SchedulerCosts{"system": {Base: 40 * time.Microsecond, PerNode: time.Microsecond, HalfCached: 185, Garbage: 0.4}}
	if got, err := loadCost("twice.hcl", read); err != nil || !reflect.DeepEqual(got.Costs, want) {
		t.Errorf("twice as fast: %+v, %v, want %+v", got, err, want)
	}
	if got, err := loadCost("again.hcl", read); err != nil || !reflect.DeepEqual(got.Costs, base.Costs) {
		t.Errorf("as fast as at first: %+v, %v, want %+v", got, err, base.Costs)
	}
	for name, text := range map[string]string{
		"alone.hcl": "speed = 2, and nothing to be faster than: set base, too",
		"light.hcl": "speed is 1e+09; it must be 0.01 to 100",
		"still.hcl": "speed is 1e-300; it must be 0.01 to 100",
	} {
		if _, err := loadCost(name, read); err == nil || !strings.Contains(err.Error(), name+": "+text) {
			t.Errorf("%s: error %v, want one that says %q", name, err, text)
		}
	}
}

// TestSnapshotsWhereTheyCost: servers take snapshots as Nomad's do if the costs say what they take, and
// else only if the scenario says so.
func TestSnapshotsWhereTheyCost(t *testing.T) {
	costs := cluster.Costs{Raft: cluster.RaftCosts{PerRow: time.Microsecond}}
	own := defaultCluster
	own.Raft.SnapshotThreshold = 77
	for _, c := range []struct {
		words clusterWords
		costs cluster.Costs
		want  uint64
	}{{defaultCluster, cluster.Costs{}, noSnapshots}, {defaultCluster, costs, 8192}, {own, costs, 77}} {
		if got := c.words.config(c.costs).WithDefaults().Raft.SnapshotThreshold; got != c.want {
			t.Errorf("a threshold of %d entries with rows at %v gives %d, want %d", c.words.Raft.SnapshotThreshold, c.costs.Raft.PerRow, got, c.want)
		}
	}
}

func TestModelListsFigures(t *testing.T) {
	c, err := parseCost("mine.hcl", []byte(sampleCost), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := c.model()
	got := map[string]float64{}
	for _, cost := range m.Costs {
		got[cost.Name+" "+cost.Unit] = cost.Value
	}
	want := map[string]float64{
		"cores ": 2, "pooled ": 1, "fsync s": 0.0002, "client_link.latency s": 0.001, "client_link.loss ": 0.01,
		"rpc.wait_index_scan s": 1e-7, "raft.per_kib s": 3e-6, "scheduler.system.per_node s": 2.2e-6, "scheduler.service.base s": 0.001,
	}
	if m.Class != "mine" || !reflect.DeepEqual(got, want) {
		t.Errorf("model of %s: %v, want %v", m.Class, got, want)
	}
}

func FuzzParseCost(f *testing.F) {
	f.Add(sampleCost)
	f.Add(`scheduler "x" { base = "1ms" }`)
	f.Add(`class = source`)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parseCost("fuzz.hcl", []byte(text), func(string) ([]byte, error) { return nil, errors.New("there are no files here") }, nil)
		if (c == nil) == (err == nil) {
			t.Errorf("parsed %+v with error %v", c, err)
		}
	})
}

// TestIdentitiesAtRest: heartbeats take the leader longer where it verifies who calls.
func TestIdentitiesAtRest(t *testing.T) {
	busy := func(release string) float64 {
		c, err := Compile(Spec{Scenario: "heartbeat-storm", Broker: release, Seed: 1, Cost: "../testdata/validation/sixth/later/machine-2.0.5.hcl"})
		must(t, err)
		return c.busy()
	}
	before, since := busy("1.10.4"), busy("2.0.5")
	const beats = 5000 / 150. // a second: once to twice a TTL of 100 s
	if got, want := since-before, beats*105e-6/2; math.Abs(got-want) > 1e-9 {
		t.Errorf("identities take %g of the cores, want %g", got, want)
	}
}
