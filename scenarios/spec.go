package scenarios

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/simctl/simctl/internal/infile"
	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/scenarios/internal/run"
)

// Clocks a run can be on.
const (
	ClockVirtual = run.ClockVirtual
	ClockWall    = run.ClockWall
)

// Where servers can keep their Raft logs, votes and snapshots.
const (
	RaftStoreMemory = "memory"
	RaftStoreBoltDB = "boltdb" // on disk, with the snapshots in files beside it
)

// Stdin is what Spec.File calls a text that was read from there.
const Stdin = "stdin"

// Spec is one run, as text: the form in which runs are written to JSON and passed to child
// processes. Compile works out what it stands for.
type Spec struct {
	Scenario string `json:"scenario"` // a name of Names, or that of the file
	// File is the path of a scenario file, as errors and CommandLine show it, and Source
	// its text; both are empty for a built-in scenario.
	File   string `json:"file,omitempty"`
	Source string `json:"source,omitempty"`
	// Files has the texts of the files that the scenario names, by their paths, and CostFiles
	// those of cost files. Compile reads the others.
	Files     map[string]string `json:"files,omitempty"`
	CostFiles map[string]string `json:"cost_files,omitempty"`
	// Vars has the variables that do not have their defaults: numbers, bools and texts. A text
	// is read as the variable's type says. Copies of a Spec share the map: use Set.
	Vars map[string]any `json:"vars,omitempty"`

	Broker string `json:"broker"` // of a broker block of the scenario, or one that broker.PolicyByName accepts
	Seed   int64  `json:"seed"`
	Clock  string `json:"clock"` // ClockVirtual or ClockWall; empty = ClockVirtual
	// Cost is a class of machines, a name of CostNames or the path of a file that describes
	// one; empty = what the scenario says, and DefaultCost if that says nothing.
	Cost string `json:"cost"`
	// Reports says whether clients report their allocations if the scenario does not say it; nil = as the
	// class of machines says.
	Reports *bool `json:"reports,omitempty"`
	// TimeScale multiplies every duration of cluster and fleet, Raft's down to a floor
	// (cluster.RaftConfig), on the wall clock only: 0.02 runs fifty times as fast. Zero means 1.
	TimeScale float64 `json:"time_scale,omitempty"`
	// RaftStore is RaftStoreMemory or, on the wall clock only, RaftStoreBoltDB, in a directory
	// for temporary files that is gone when the run ends; empty = RaftStoreMemory.
	RaftStore string `json:"raft_store,omitempty"`
	// Force lifts the limit of 1,000,000 clients.
	Force bool `json:"force,omitempty"`
	// IndependentReplicas makes every server apply every entry of the Raft log for itself. The
	// Result is the same and takes longer: it proves that replicas agree.
	IndependentReplicas bool `json:"independent_replicas,omitempty"`
	// Thorough judges what clients read from all servers, and adds a digest of every event to the
	// invariants; on virtual time only. The reads take their share of the servers' cores.
	Thorough bool `json:"thorough,omitempty"`
}

// Inputs of a Spec beside its variables, as InputError names them.
const (
	InputScenario  = "scenario"
	InputBroker    = "broker"
	InputClock     = "clock"
	InputCost      = "cost"
	InputTimeScale = "time_scale"
	InputRaftStore = "raft_store"
	InputThorough  = "thorough"
)

// InputError is a Spec that cannot be run because of one of its values.
type InputError struct {
	Input   string // one of the Input constants, or a variable's name; empty for a file
	Value   string
	Allowed string // what would be accepted
	// OfFile says that Input is a variable of a scenario file, not of a built-in scenario.
	OfFile bool
}

func (e *InputError) Error() string {
	switch {
	case e.Input == "":
		return fmt.Sprintf("%s: %s", e.Value, e.Allowed)
	case e.OfFile:
		return fmt.Sprintf("--var %q: %s", e.Input+"="+e.Value, e.Allowed)
	}
	return fmt.Sprintf("--%s %q: %s", Flag(e.Input), e.Value, e.Allowed)
}

// Set gives a variable a value, in this Spec only. Compile checks that there is such a
// variable, and that it can have the value.
func (s *Spec) Set(name string, value any) {
	s.Vars = maps.Clone(s.Vars)
	if s.Vars == nil {
		s.Vars = map[string]any{}
	}
	s.Vars[name] = value
}

// readFile reads a file that a scenario names, relative to the scenario's own.
func (s Spec) readFile(path string) ([]byte, error) {
	if text, ok := s.Files[path]; ok {
		return []byte(text), nil
	}
	if s.Source == "" {
		return readBuiltin(path)
	}
	full := path
	if !filepath.IsAbs(path) {
		full = filepath.Join(filepath.Dir(s.File), path)
	}
	text, err := infile.Read(full, infile.MostData)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", full, err)
	}
	return text, nil
}

// readCost reads a cost file, relative to the working directory.
func (s Spec) readCost(path string) ([]byte, error) {
	if text, ok := s.CostFiles[path]; ok {
		return []byte(text), nil
	}
	return infile.Read(path, infile.MostText)
}

type readFunc = func(path string) ([]byte, error)

// keeping returns a read that stores what it reads in texts.
func keeping(texts *map[string]string, read readFunc) readFunc {
	return func(path string) ([]byte, error) {
		text, err := read(path)
		if err != nil {
			return nil, err
		}
		if *texts == nil {
			*texts = map[string]string{}
		}
		(*texts)[path] = string(text)
		return text, nil
	}
}

// differsByBroker reports whether two Specs differ in their brokers at most.
func (s Spec) differsByBroker(o Spec) bool {
	s.Broker = o.Broker
	return reflect.DeepEqual(s, o)
}

// checkClock returns an *InputError for what the clock does not allow.
func (s Spec) checkClock() error {
	switch s.Clock {
	case ClockVirtual, "":
		if s.TimeScale != 0 && s.TimeScale != 1 {
			return &InputError{Input: InputTimeScale, Value: formatFloat(s.TimeScale), Allowed: "virtual time needs no scaling: leave it out or use --clock wall"}
		}
	case ClockWall:
		if !(s.TimeScale >= 0 && s.TimeScale <= 1000) { // so that a NaN is refused
			return &InputError{Input: InputTimeScale, Value: formatFloat(s.TimeScale), Allowed: "it must be a number above 0, up to 1000"}
		}
	default:
		return &InputError{Input: InputClock, Value: s.Clock, Allowed: "it must be virtual or wall"}
	}
	switch {
	case !slices.Contains([]string{"", RaftStoreMemory, RaftStoreBoltDB}, s.RaftStore):
		return &InputError{Input: InputRaftStore, Value: s.RaftStore, Allowed: "it must be memory or boltdb"}
	case s.RaftStore == RaftStoreBoltDB && s.Clock != ClockWall:
		return &InputError{Input: InputRaftStore, Value: s.RaftStore, Allowed: "virtual time knows no disk: leave it out or use --clock wall"}
	case s.Thorough && s.Clock == ClockWall:
		return &InputError{Input: InputThorough, Value: "true", Allowed: "on the wall clock no two runs are equal: leave it out or use --clock virtual"}
	}
	return nil
}

// SpecOf returns the Spec of a simulation with the parameters of a run on real servers, under
// their release. Base has the scenario if that is no built-in one, and the class of machines. If base names no class, it is
// that of servers of the release which share a machine. The error is an *InputError.
func SpecOf(r *metrics.Result, base Spec) (Spec, error) {
	refuse := func(why string) (Spec, error) {
		return base, &InputError{Value: "the run of " + r.Run.Label(), Allowed: why}
	}
	if err := CheckRelease(r.Run.Target); err != nil {
		return refuse(fmt.Sprintf("it is no run on real servers that can be simulated: its target is %q", r.Run.Target))
	}
	if base.Source == "" {
		if base.Scenario = r.Run.Scenario; Describe(base.Scenario) == "" {
			return refuse(fmt.Sprintf("scenario %s is not built in: name its file by --scenario", base.Scenario))
		}
	}
	base.Broker, base.Seed, base.Clock, base.Vars = r.Run.Target, r.Run.Seed, ClockVirtual, nil
	base.Cost = cmp.Or(base.Cost, loopbackCost(r.Run.Target))
	vars, err := base.Variables()
	if err != nil {
		return base, err
	}
	if reports, ok := r.Run.Params["report_allocations"].(bool); ok {
		base.Reports = &reports
	}
	for _, v := range vars {
		value, ok := r.Run.Params[v.Name]
		if n, number := value.(json.Number); number {
			value = n.String()
		}
		if ok && value != nil {
			base.Set(v.Name, value)
		}
	}
	return base, nil
}
