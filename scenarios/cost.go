package scenarios

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"math"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/scenarios/internal/scale"
	"github.com/simctl/simctl/scenarios/language"
)

// DefaultCost is the class of a run that names none.
const DefaultCost = "published"

// jobTypes are the types that have a scheduler.
var jobTypes = []string{rpc.JobTypeService, rpc.JobTypeBatch, rpc.JobTypeSystem, rpc.JobTypeSysBatch}

//go:embed calibration/*.hcl
var calibration embed.FS

// Cost is a class of machines: what work costs on them, and what clients did in the runs that
// were measured. calibration/*.hcl are the built-in classes, and examples for files of users.
type Cost struct {
	Class  string // a short name
	Title  string // one line
	Source string // where its figures come from
	Costs  cluster.Costs
	// ReportAllocs says that the clients report their allocations.
	ReportAllocs bool
}

// CostNames returns the names of the built-in classes, sorted.
func CostNames() []string { return namesIn(calibration, "calibration") }

// loopbackCost returns the built-in class for real servers of a release that share a machine. Of the classes that are
// named loopback-RELEASE, it is the one of the newest release that is not after the given one; without any it is loopback.
func loopbackCost(release string) string {
	const class = "loopback"
	of, err := cluster.ParseVersion(release)
	if err != nil {
		return class
	}
	best, newest := class, cluster.Version{}
	for _, name := range CostNames() {
		since, err := cluster.ParseVersion(strings.TrimPrefix(name, class+"-"))
		if err == nil && since.Compare(of) <= 0 && since.Compare(newest) > 0 {
			best, newest = name, since
		}
	}
	return best
}

// loadCost returns the built-in class of that name, or reads the file of that path if it
// contains a slash or ends in .hcl; empty means DefaultCost. An error is an *InputError.
func loadCost(name string, read readFunc) (*Cost, error) {
	if name == "" {
		name = DefaultCost
	}
	c, err := classOf(name, read, nil)
	if err != nil {
		return nil, &InputError{Input: InputCost, Value: name, Allowed: err.Error()}
	}
	return c, nil
}

// classOf is loadCost for a class that cost files build on. Each file in above names the next as its base, and the last
// names this class.
func classOf(name string, read readFunc, above []string) (*Cost, error) {
	if isCostFile(name) {
		text, err := read(name)
		if err != nil {
			return nil, fmt.Errorf("the file cannot be read: %w", err)
		}
		return parseCost(name, text, read, above)
	}
	file := path.Join("calibration", name+".hcl")
	text, err := calibration.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("it must be %s or the path of a .hcl file", strings.Join(CostNames(), ", "))
	}
	return parseCost(file, text, read, above)
}

// isCostFile tells the path of a file from the name of a built-in class.
func isCostFile(name string) bool {
	return strings.ContainsAny(name, `/\`) || strings.HasSuffix(name, ".hcl")
}

// costFile is what a cost file can say.
type costFile struct {
	Class, Title, Source string
	// Base is the class whose figures the file replaces some of: a built-in one, or the path of a
	// file, which is relative to this one's. The processors are Speed times as fast as there; zero
	// means as fast.
	Base  string
	Speed float64
	Fleet struct{ ReportAllocations bool }
	cluster.Costs
}

// parseCost reads a cost file; the error says where in the file what is wrong. The files above
// build on this one.
func parseCost(file string, text []byte, read readFunc, above []string) (*Cost, error) {
	c, raw := &Cost{}, costFile{}
	if err := language.DecodeFigures(file, text, &raw); err != nil {
		return nil, err
	}
	switch {
	case raw.Speed == 0:
	case raw.Base == "":
		return nil, fmt.Errorf("%s: speed = %v, and nothing to be faster than: set base, too", file, raw.Speed)
	case raw.Speed < 0.01 || raw.Speed > 100:
		return nil, fmt.Errorf("%s: speed is %v; it must be 0.01 to 100", file, raw.Speed)
	}
	if raw.Base != "" {
		name := raw.Base
		if isCostFile(name) && !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(file), name)
		}
		if above = append(above, file); slices.Contains(above, name) {
			return nil, fmt.Errorf("%s: base = %q: the file builds on itself; name another class", file, raw.Base)
		}
		base, err := classOf(name, read, above)
		if err != nil {
			return nil, fmt.Errorf("%s: base = %q: %w", file, raw.Base, err)
		}
		raw = costFile{Costs: faster(base.Costs, cmp.Or(raw.Speed, 1))}
		raw.Fleet.ReportAllocations = base.ReportAllocs
		if err := language.DecodeFigures(file, text, &raw); err != nil {
			return nil, err
		}
	}
	for kind := range raw.Scheduler {
		if !slices.Contains(jobTypes, kind) {
			return nil, fmt.Errorf("%s: scheduler %q is no type of job; it must be one of %s", file, kind, strings.Join(jobTypes, ", "))
		}
	}
	if err := raw.Costs.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	c.Class, c.Title, c.Source = raw.Class, raw.Title, raw.Source
	c.ReportAllocs, c.Costs = raw.Fleet.ReportAllocations, raw.Costs
	if c.Class == "" || c.Source == "" {
		return nil, errors.New(file + ": a class of machines needs a class and a source")
	}
	return c, nil
}

// faster returns the costs on processors that are speed times as fast. The delays of links, of the disk and of waking up
// stay, since they do not depend on the processor. Garbage is given per time of work, so its figures rise for work to leave
// as much as before. Idle stays, too: idle servers took 20 to 25 ms a second on three machines, although work takes
// twice as long on one of them.
func faster(c cluster.Costs, speed float64) cluster.Costs {
	f := scale.Durations(c, 1/speed)
	f.ServerLink, f.ClientLink, f.Fsync, f.RPC.Wake = c.ServerLink, c.ClientLink, c.Fsync, c.RPC.Wake
	f.ExitLatency, f.ThreadWake, f.Idle = c.ExitLatency, c.ThreadWake, c.Idle
	f.Collection.Garbage *= speed
	f.Collection.Others *= speed
	f.Raft.PlanGarbage *= speed
	f.FSM.Garbage *= speed
	for kind, s := range f.Scheduler {
		s.Garbage *= speed
		f.Scheduler[kind] = s
	}
	return f
}

// model returns the costs as a Result holds them.
func (c *Cost) model() *metrics.CostModel {
	m := &metrics.CostModel{Class: c.Class, Source: c.Source}
	figures("", reflect.ValueOf(c.Costs), func(name string, value any) {
		switch v := value.(type) {
		case time.Duration:
			m.Costs = append(m.Costs, metrics.Cost{Name: name, Unit: "s", Value: v.Seconds()})
		case int:
			m.Costs = append(m.Costs, metrics.Cost{Name: name, Value: float64(v)})
		case float64:
			m.Costs = append(m.Costs, metrics.Cost{Name: name, Value: v})
		case bool:
			if v {
				m.Costs = append(m.Costs, metrics.Cost{Name: name, Value: 1})
			}
		}
	})
	return m
}

// figures calls fn for every figure that is not zero, with its path in a cost file. Such a file
// has an attribute for every figure of cluster.Costs and a block for every group of them, named
// as in Go but in snake case, such as rpc { wait_index_scan = "0.1us" }.
func figures(prefix string, v reflect.Value, fn func(path string, value any)) {
	for name, f := range language.Fields(v) {
		switch f.Kind() {
		case reflect.Struct:
			figures(prefix+name+".", f, fn)
		case reflect.Map:
			keys := f.MapKeys()
			slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
			for _, k := range keys {
				figures(prefix+name+"."+k.String()+".", f.MapIndex(k), fn)
			}
		default:
			if !f.IsZero() {
				fn(prefix+name, f.Interface())
			}
		}
	}
}

// Text returns the class as a cost file, with every length of time multiplied by what factor returns
// for its path.
func (c *Cost) Text(factor func(path string) float64) []byte {
	var out strings.Builder
	fmt.Fprintf(&out, "class = %q\ntitle = %q\nsource = %q\n\n", c.Class, c.Title, c.Source)
	block := ""
	open := func(next string) {
		if next == block {
			return
		}
		if block != "" {
			out.WriteString("}\n")
		}
		if block = next; block != "" {
			kind, label, labelled := strings.Cut(block, ".")
			if labelled {
				kind += " " + strconv.Quote(label)
			}
			fmt.Fprintf(&out, "\n%s {\n", kind)
		}
	}
	// Attributes of the file itself come before its blocks.
	for _, top := range []bool{true, false} {
		figures("", reflect.ValueOf(c.Costs), func(path string, value any) {
			at := strings.LastIndexByte(path, '.')
			if top != (at < 0) {
				return
			}
			open(path[:max(at, 0)])
			if d, ok := value.(time.Duration); ok {
				value = strconv.Quote(time.Duration(math.Round(float64(d) * factor(path))).String())
			}
			fmt.Fprintf(&out, "%s = %v\n", path[at+1:], value)
		})
	}
	open("fleet")
	fmt.Fprintf(&out, "report_allocations = %t\n", c.ReportAllocs)
	open("")
	text, err := language.Format("costs", []byte(out.String()))
	if err != nil {
		panic(err) // it was made above
	}
	return text
}

// setCores gives servers the cores of the cluster block, if it sets them.
func setCores(def *language.Definition, cost *Cost) error {
	cores := def.Cluster.Args.(*clusterWords).Cores
	switch {
	case cores == 0:
	case slices.Contains(def.Cost.Said, "cores"):
		return def.Errorf(def.Cost.At, "Cores twice", "The cluster says how many cores a server has, and so do the costs: leave one of them out.")
	default:
		cost.Costs.Cores = cores
	}
	return nil
}
