package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/simctl/simctl/scenarios"
	"github.com/simctl/simctl/scenarios/language"
)

// mustBindVariables adds a flag for every variable of a built-in scenario.
func mustBindVariables(flags *pflag.FlagSet, spec *scenarios.Spec) {
	vars, err := spec.Variables()
	if err != nil {
		panic(err) // the catalogue's tests hold it to being readable
	}
	for _, v := range vars {
		name := scenarios.Flag(v.Name)
		flags.Var(&variableFlag{v, spec}, name, v.Description)
		if v.Type == language.TypeBool {
			flags.Lookup(name).NoOptDefVal = "true"
		}
	}
}

// variableFlag is a flag value for a variable of a scenario.
type variableFlag struct {
	variable language.Variable
	spec     *scenarios.Spec
}

func (f *variableFlag) String() string {
	if f.spec == nil || f.variable.Value == nil {
		return "" // pflag calls String on a zero value to find the zero default
	}
	return f.variable.Text()
}

func (f *variableFlag) Type() string {
	return map[string]string{language.TypeInteger: "int", language.TypeNumber: "float"}[f.variable.Type] +
		map[string]string{language.TypeBool: "bool", language.TypeDuration: "duration", language.TypeString: "string"}[f.variable.Type]
}

func (f *variableFlag) Set(text string) error {
	value, err := f.variable.Parse(text)
	if e, ok := errors.AsType[*language.VariableError](err); ok {
		return errors.New(e.Allowed)
	}
	f.variable.Value = value
	f.spec.Set(f.variable.Name, value)
	return err
}

// assignments holds the values of --var and --var-file. Both may be repeated; the last
// value of a variable counts.
type assignments struct {
	values map[string]any
	files  map[string]*language.Values // by variable: the file its value came from, if any
}

func (a *assignments) bind(flags *pflag.FlagSet) {
	a.values, a.files = map[string]any{}, map[string]*language.Values{}
	flags.Var(assignment{a}, "var", "set a variable: NAME=VALUE (may be repeated)")
	flags.Var(assignmentFile{a}, "var-file", "set variables from a file of NAME = VALUE lines (HCL)")
}

// twoDashes accepts -var and -var-file with one dash, as Nomad's own commands have them.
func twoDashes(args []string) []string {
	out := slices.Clone(args)
	for i, arg := range out {
		if arg == "--" {
			break
		}
		if name, _, _ := strings.Cut(arg, "="); name == "-var" || name == "-var-file" {
			out[i] = "-" + arg
		}
	}
	return out
}

// apply gives the variables of spec their values.
func (a *assignments) apply(spec *scenarios.Spec) {
	for name, value := range a.values {
		spec.Set(name, value)
	}
}

// explain returns an error that names the source of the wrong value, or nil if e is not
// about one of the values.
func (a *assignments) explain(e *scenarios.InputError) error {
	for name, value := range a.values {
		switch {
		case name != e.Input:
		case a.files[name] != nil:
			return a.files[name].Errorf(name, "Wrong value", "%s: %s.", name, e.Allowed)
		default:
			return fmt.Errorf("--var %q: %s", fmt.Sprintf("%s=%v", name, value), e.Allowed)
		}
	}
	return nil
}

type assignment struct{ to *assignments }

func (a assignment) String() string { return "" }
func (a assignment) Type() string   { return "name=value" }

func (a assignment) Set(text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return errors.New("it must be NAME=VALUE, such as nodes=500")
	}
	a.to.values[name] = value
	delete(a.to.files, name)
	return nil
}

type assignmentFile struct{ to *assignments }

func (a assignmentFile) String() string { return "" }
func (a assignmentFile) Type() string   { return "file" }

func (a assignmentFile) Set(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("it cannot be read: %w", err)
	}
	values, err := language.ParseValues(path, text)
	if err != nil {
		return err
	}
	for name, value := range values.Of {
		a.to.values[name], a.to.files[name] = value, values
	}
	return nil
}
