package main

import (
	"cmp"
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
		flags.Var(newChecked(&v.Value, flagType(v.Type), func(text string) (any, error) {
			value, err := v.Parse(text)
			if e, ok := errors.AsType[*language.VariableError](err); ok {
				return nil, errors.New(e.Allowed)
			}
			spec.Set(v.Name, value)
			return value, err
		}), name, v.Description)
		if v.Type == language.TypeBool {
			flags.Lookup(name).NoOptDefVal = "true"
		}
	}
}

// flagType returns what the help of a flag calls a variable's type.
func flagType(variable string) string {
	return cmp.Or(map[string]string{language.TypeInteger: "int", language.TypeNumber: "float"}[variable], variable)
}

// assignments holds the values of --var and --var-file. Both may be repeated; the last
// value of a variable counts.
type assignments struct {
	values map[string]any
	files  map[string]*language.Values // by variable: the file its value came from, if any
}

func (a *assignments) bind(flags *pflag.FlagSet) {
	a.values, a.files = map[string]any{}, map[string]*language.Values{}
	flags.Var(setter{"name=value", a.set}, "var", "set a variable: NAME=VALUE (may be repeated)")
	flags.Var(setter{"file", a.read}, "var-file", "set variables from a file of NAME = VALUE lines (HCL)")
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

// load makes spec one of the scenario, given by file or by name, with these values.
func (a *assignments) load(spec *scenarios.Spec, scenario string) error {
	found, err := specOf(scenario)
	if err != nil {
		return err
	}
	spec.Scenario, spec.File, spec.Source = found.Scenario, found.File, found.Source
	for name, value := range a.values {
		spec.Set(name, value)
	}
	return nil
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

// setter is a flag value without a default that may be set many times.
type setter struct {
	kind string
	set  func(string) error
}

func (s setter) String() string        { return "" }
func (s setter) Type() string          { return s.kind }
func (s setter) Set(text string) error { return s.set(text) }

func (a *assignments) set(text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return errors.New("it must be NAME=VALUE, such as nodes=500")
	}
	a.values[name] = value
	delete(a.files, name)
	return nil
}

func (a *assignments) read(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("it cannot be read: %w", err)
	}
	values, err := language.ParseValues(path, text)
	if err != nil {
		return err
	}
	for name, value := range values.Of {
		a.values[name], a.files[name] = value, values
	}
	return nil
}
