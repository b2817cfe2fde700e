package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/simctl/simctl/internal/infile"
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
	paths  []string                    // of the files, as given
}

func (a *assignments) bind(flags *pflag.FlagSet) {
	a.values, a.files = map[string]any{}, map[string]*language.Values{}
	flags.Var(setter{"file", a.read, func() []string { return a.paths }}, "var-file", "set variables from a file of NAME = VALUE lines (HCL)")
	flags.Var(setter{"name=value", a.set, a.given}, "var", "set a variable: NAME=VALUE (may be repeated)")
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
func (a *assignments) load(stdin io.Reader, spec *scenarios.Spec, scenario string) error {
	found, err := specOf(stdin, scenario)
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
	kind  string
	set   func(string) error
	given func() []string // what set was called with, for commandLine
}

var _ pflag.SliceValue = setter{}

func (s setter) String() string           { return "" }
func (s setter) Type() string             { return s.kind }
func (s setter) Set(text string) error    { return s.set(text) }
func (s setter) Append(text string) error { return s.set(text) }
func (s setter) GetSlice() []string       { return s.given() }

func (s setter) Replace([]string) error { return errors.New("it cannot be replaced") }

func (a *assignments) set(text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return errors.New("it must be NAME=VALUE, such as nodes=500")
	}
	a.values[name] = value
	delete(a.files, name)
	return nil
}

// given returns the assignments that no later file has changed, in the order of their names.
func (a *assignments) given() []string {
	var given []string
	for name, value := range a.values {
		if a.files[name] == nil {
			given = append(given, fmt.Sprintf("%s=%v", name, value))
		}
	}
	slices.Sort(given)
	return given
}

func (a *assignments) read(path string) error {
	text, err := infile.Read(path, infile.MostText)
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
	a.paths = append(a.paths, path)
	return nil
}
