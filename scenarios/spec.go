package scenarios

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/scenarios/language"
)

// Clocks a run can be on.
const (
	ClockVirtual = "virtual"
	ClockWall    = "wall"
)

// Where servers can keep their Raft logs, votes and snapshots.
const (
	RaftStoreMemory = "memory"
	RaftStoreBoltDB = "boltdb" // on disk, with the snapshots in files beside it
)

// Spec is one run. It is JSON-able: a child process is handed one, and once it is complete
// everything the run depends on is in it.
type Spec struct {
	Scenario string `json:"scenario"` // a name of Names, or that of the file
	// File is the path of a scenario file, as errors and CommandLine show it, and Source
	// its text; both are empty for a built-in scenario.
	File   string `json:"file,omitempty"`
	Source string `json:"source,omitempty"`
	// Files are the texts of the files that the scenario's names, by the paths in it, and
	// CostFiles those of cost files, by theirs. What is not here is read when the run is
	// worked out; Complete reads everything.
	Files     map[string]string `json:"files,omitempty"`
	CostFiles map[string]string `json:"cost_files,omitempty"`
	// Vars are the variables that do not have their defaults: numbers, truths and texts; a
	// text is read as the variable's type says. Copies of a Spec share the map: use Set.
	Vars map[string]any `json:"vars,omitempty"`

	Broker string `json:"broker"` // of a broker block of the scenario, or one that broker.PolicyByName accepts
	Seed   int64  `json:"seed"`
	Clock  string `json:"clock"` // ClockVirtual or ClockWall; empty = ClockVirtual
	// Cost is a class of machines, a name of CostNames or the path of a file that describes
	// one; empty = what the scenario says, and DefaultCost if that says nothing.
	Cost string `json:"cost"`
	// TimeScale multiplies every duration of cluster and fleet, Raft's down to a floor
	// (cluster.RaftConfig.Scaled), on the wall clock only: 0.02 runs fifty times as fast. Zero means 1.
	TimeScale float64 `json:"time_scale,omitempty"`
	// RaftStore is RaftStoreMemory or, on the wall clock only, RaftStoreBoltDB, in a directory
	// for temporary files that is gone when the run ends; empty = RaftStoreMemory.
	RaftStore string `json:"raft_store,omitempty"`
	// Force lifts the limit of 1,000,000 clients.
	Force bool `json:"force,omitempty"`
}

// InputError is a Spec that cannot be run because of one of its values.
type InputError struct {
	Flag    string // the command line flag the value belongs to, without dashes; empty = none
	Value   string
	Allowed string // what would be accepted
}

func (e *InputError) Error() string {
	if e.Flag == "" {
		return fmt.Sprintf("%s: %s", e.Value, e.Allowed)
	}
	return fmt.Sprintf("--%s %s: %s", e.Flag, strconv.Quote(e.Value), e.Allowed)
}

// FlagName returns the flag that a variable has on the command line of its scenario.
func FlagName(variable string) string { return strings.ReplaceAll(variable, "_", "-") }

// Validate returns an *InputError for the first value that cannot be run, and a
// *language.Error for a scenario file that cannot; it reads the files that are named.
func (s Spec) Validate() error {
	_, err := s.scenario()
	return err
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
	text, err := os.ReadFile(full)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", full, cause(err))
	}
	return text, nil
}

// readCost reads a cost file, relative to the working directory.
func (s Spec) readCost(path string) ([]byte, error) {
	if text, ok := s.CostFiles[path]; ok {
		return []byte(text), nil
	}
	return os.ReadFile(path)
}

// Complete validates the Spec and returns it with the texts of all files it needs: what
// becomes of the files afterwards is of no meaning to its run. The error is that of
// Validate.
func (s Spec) Complete() (Spec, error) {
	whole := s
	whole.Files, whole.CostFiles = nil, nil
	_, err := s.workOut(keeping(&whole.Files, s.readFile), keeping(&whole.CostFiles, s.readCost))
	return whole, err
}

type readFunc = func(path string) ([]byte, error)

// keeping reads as read does, and keeps what it reads.
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

// open reads the scenario's text as far as it does not depend on variables.
func (s Spec) open() (*language.File, error) {
	if s.Source != "" {
		return language.Open(s.File, []byte(s.Source))
	}
	text, ok := Text(s.Scenario)
	if !ok {
		return nil, &InputError{"scenario", s.Scenario, "it must be one of " + strings.Join(Names(), ", ")}
	}
	return language.Open(s.Scenario+".hcl", text)
}

// define works out the scenario's text.
func (s Spec) define() (*language.Definition, *Cost, error) { return s.defineWith(s.readCost) }

func (s Spec) defineWith(readCost readFunc) (*language.Definition, *Cost, error) {
	file, err := s.open()
	if err != nil {
		return nil, nil, err
	}
	var cost *Cost
	if s.Cost != "" {
		if _, err := loadCost(s.Cost, readCost); err != nil {
			return nil, nil, err
		}
	}
	def, err := file.Define(language.Options{Vocabulary: vocabulary(s.Cost, &cost, readCost), Values: s.Vars})
	if v, ok := errors.AsType[*language.VariableError](err); ok {
		return nil, nil, s.inputError(v)
	}
	if err != nil {
		return nil, nil, err
	}
	return def, cost, setCores(def, cost)
}

// inputError says which part of the command line gave a variable its value.
func (s Spec) inputError(v *language.VariableError) *InputError {
	if s.Source != "" {
		return &InputError{"var", v.Name + "=" + v.Value, v.Allowed}
	}
	return &InputError{FlagName(v.Name), v.Value, v.Allowed}
}

// scenario works out what the Spec stands for.
func (s Spec) scenario() (*Scenario, error) { return s.workOut(s.readFile, s.readCost) }

func (s Spec) workOut(read, readCost readFunc) (*Scenario, error) {
	scale := 1.0
	switch s.Clock {
	case ClockVirtual, "":
		if s.TimeScale != 0 && s.TimeScale != 1 {
			return nil, &InputError{"time-scale", formatFloat(s.TimeScale), "virtual time needs no scaling: leave it out or use --clock wall"}
		}
	case ClockWall:
		if !(s.TimeScale >= 0 && s.TimeScale <= 1000) { // so that a NaN is refused
			return nil, &InputError{"time-scale", formatFloat(s.TimeScale), "it must be a number above 0, up to 1000"}
		}
		if s.TimeScale != 0 {
			scale = s.TimeScale
		}
	default:
		return nil, &InputError{"clock", s.Clock, "it must be virtual or wall"}
	}
	switch {
	case !slices.Contains([]string{"", RaftStoreMemory, RaftStoreBoltDB}, s.RaftStore):
		return nil, &InputError{"raft-store", s.RaftStore, "it must be memory or boltdb"}
	case s.RaftStore == RaftStoreBoltDB && s.Clock != ClockWall:
		return nil, &InputError{"raft-store", s.RaftStore, "virtual time knows no disk: leave it out or use --clock wall"}
	}
	def, cost, err := s.defineWith(readCost)
	if err != nil {
		return nil, err
	}
	sc, err := build(def, cost, s.Force, read)
	if err != nil {
		return nil, err
	}
	sc.Name, sc.vars = s.Scenario, def.Variables
	sc.Cluster.Seed, sc.Fleet.Seed = s.Seed, s.Seed
	p, err := sc.profiles.of(s.Broker)
	if err != nil {
		return nil, &InputError{"broker", s.Broker, err.Error()}
	}
	p.apply(&sc.Cluster)
	return sc.scaled(scale), nil
}

// Variables returns the scenario's variables, in the order of its text, with the values of
// the Spec.
func (s Spec) Variables() ([]language.Variable, error) {
	file, err := s.open()
	if err != nil {
		return nil, err
	}
	vars, err := file.WithValues(s.Vars)
	if v, ok := errors.AsType[*language.VariableError](err); ok {
		return nil, s.inputError(v)
	}
	return vars, err
}

// FigureVocabulary returns what paths of figures of the Spec's runs can name. The error is
// that of Validate.
func (s Spec) FigureVocabulary() (*metrics.Vocabulary, error) {
	def, _, err := s.define()
	if err != nil {
		return nil, err
	}
	return figureVocabulary(def), nil
}

// Machines returns the class of machines that the Spec is charged by. The error is that of
// Validate.
func (s Spec) Machines() (*Cost, error) {
	_, cost, err := s.define()
	return cost, err
}

// Brokers returns the brokers that the scenario is about. The error is that of Validate.
func (s Spec) Brokers() ([]string, error) {
	def, _, err := s.define()
	if err != nil {
		return nil, err
	}
	return compared(def), nil
}

// Set gives a variable a value, in this Spec only. That there is such a variable, and that
// it can have the value, is for Validate to say.
func (s *Spec) Set(name string, value any) {
	s.Vars = maps.Clone(s.Vars)
	if s.Vars == nil {
		s.Vars = map[string]any{}
	}
	s.Vars[name] = value
}

// params returns the variables as a Result lists them: those that most runs leave alone
// only if this one does not.
func params(vars []language.Variable) map[string]any {
	out := map[string]any{}
	for _, v := range vars {
		if !v.Optional || !v.IsDefault() {
			out[v.Name] = v.Value
		}
	}
	return out
}

// CommandLine returns the command that repeats the run, less where its output goes.
func (s Spec) CommandLine() string {
	args := []string{"simctl scenario", s.Scenario}
	if s.Source != "" {
		args = []string{"simctl scenario run", Quoted(s.File)}
	}
	vars, err := s.Variables()
	if err != nil {
		vars = nil // such a Spec is never run
	}
	for i, v := range vars {
		switch {
		case v.IsDefault() && i > 0:
		case s.Source != "":
			args = append(args, "--var", Quoted(v.Name+"="+v.Text()))
		case v.Type == language.TypeBool:
			args = append(args, "--"+FlagName(v.Name)+"="+v.Text())
		default:
			args = append(args, "--"+FlagName(v.Name), Quoted(v.Text()))
		}
	}
	add := func(differs bool, flag, value string) {
		if differs {
			args = append(args, "--"+flag, value)
		}
	}
	add(s.Clock == ClockWall, "clock", s.Clock)
	add(s.TimeScale != 0, "time-scale", formatFloat(s.TimeScale))
	add(s.RaftStore == RaftStoreBoltDB, "raft-store", s.RaftStore)
	add(s.Cost != "" && s.Cost != DefaultCost, "cost", Quoted(s.Cost))
	if s.Force {
		args = append(args, "--force")
	}
	args = append(args, "--broker", s.Broker, "--seed", strconv.FormatInt(s.Seed, 10))
	return strings.Join(args, " ")
}

// Quoted quotes a word for a shell if it needs that.
func Quoted(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+=,:", r)
	}
	if word != "" && !slices.ContainsFunc([]rune(word), func(r rune) bool { return !plain(r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

func formatFloat(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// Thresholds returns what the scenario demands of its Results. The error is that of
// Validate.
func (s Spec) Thresholds() ([]metrics.Threshold, error) {
	sc, err := s.scenario()
	if err != nil {
		return nil, err
	}
	return sc.Thresholds, nil
}

// Summary says in one line what the Spec stands for. The error is that of Validate.
func (s Spec) Summary() (string, error) {
	sc, err := s.scenario()
	if err != nil {
		return "", err
	}
	jobs := 0
	for _, p := range sc.Phases {
		for _, e := range p.Events {
			if a, ok := e.Action.(RegisterJobs); ok {
				jobs += len(a.Jobs)
			}
		}
	}
	blocks := ""
	for _, w := range sc.profiles.blocks {
		blocks += ", broker " + w.Name
	}
	return fmt.Sprintf("%s; %s, %s, %s, %s%s", sc.Title, plural(sc.Cluster.Servers, "server"), plural(sc.Fleet.Nodes, "client"),
		plural(jobs, "job"), plural(len(sc.Phases), "phase"), blocks), nil
}
