package scenarios

import (
	"errors"
	"slices"
	"strings"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/scenarios/language"
)

// Outline is what a scenario says of itself with the values of a Spec. It is the same for
// every broker, and does not say that such a run is possible.
type Outline struct {
	spec Spec // with the texts of its cost files
	def  *language.Definition
	cost *Cost
}

// openText is language.Open; tests count its calls.
var openText = language.Open

// open reads the scenario's text as far as it does not depend on variables.
func (s Spec) open() (*language.File, error) {
	if s.Source != "" {
		return openText(s.File, []byte(s.Source))
	}
	file, ok := builtin(s.Scenario)
	if !ok {
		return nil, &InputError{Input: InputScenario, Value: s.Scenario, Allowed: "it must be one of " + strings.Join(Names(), ", ")}
	}
	return file()
}

// Variables returns the scenario's variables, in the order of its text, with the values of
// the Spec, each within its own bounds. Compile checks whether they go together.
func (s Spec) Variables() ([]language.Variable, error) {
	file, err := s.open()
	if err != nil {
		return nil, err
	}
	vars, err := file.WithValues(s.Vars)
	return vars, s.inputError(err)
}

// inputError makes the error of a variable's value one of the Spec.
func (s Spec) inputError(err error) error {
	if v, ok := errors.AsType[*language.VariableError](err); ok {
		return &InputError{Input: v.Name, Value: v.Value, Allowed: v.Allowed, OfFile: s.Source != ""}
	}
	return err
}

// OutlineOf returns the outline of a Spec. The error is an *InputError for the first value that
// a variable cannot have, and a *language.Error for a file with an error.
func OutlineOf(s Spec) (*Outline, error) {
	file, err := s.open()
	if err != nil {
		return nil, err
	}
	o := &Outline{spec: s}
	o.spec.CostFiles = nil
	readCost := keeping(&o.spec.CostFiles, s.readCost)
	var override *Cost
	if s.Cost != "" {
		if override, err = loadCost(s.Cost, readCost); err != nil {
			return nil, err
		}
	}
	o.def, err = file.Define(vocabulary(override, &o.cost, readCost), s.Vars)
	if err != nil {
		return nil, s.inputError(err)
	}
	return o, setCores(o.def, o.cost)
}

// Variables returns the scenario's variables, in the order of its text, with the values of the
// Spec.
func (o *Outline) Variables() []language.Variable { return slices.Clone(o.def.Variables) }

// FigureVocabulary returns what paths of figures of the runs can name.
func (o *Outline) FigureVocabulary() *metrics.Vocabulary {
	return &metrics.Vocabulary{
		Phases: o.PhaseNames(), EntryTypes: cluster.EntryTypes(),
		EvalStatuses: []string{
			broker.StatusPending, broker.StatusBlocked, broker.StatusComplete, broker.StatusFailed, broker.StatusCanceled,
		},
	}
}

// PhaseNames returns the names of the phases, in their order.
func (o *Outline) PhaseNames() []string {
	var names []string
	for _, p := range o.def.Phases {
		names = append(names, p.Name)
	}
	return names
}

// Machines returns the class of machines that the run is charged by.
func (o *Outline) Machines() *Cost { return o.cost }

// Brokers returns the brokers that the scenario compares.
func (o *Outline) Brokers() []string { return compared(o.def) }
