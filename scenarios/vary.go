package scenarios

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Kind is what values a Variable takes.
type Kind int

// Kinds of variables.
const (
	Text Kind = iota
	Whole
	Number
	Bool
)

func (k Kind) String() string {
	return [...]string{"text", "whole number", "number", "true or false"}[k]
}

// Variable is something of a run that a sweep can vary.
type Variable struct {
	Name string // as in the params of a Result
	Kind Kind
}

// Variables returns what can be varied of the Spec, sorted by name: every field of its
// Params by its name in JSON, and the cost class. Broker and seed are no variables.
func (s Spec) Variables() []Variable {
	vars := []Variable{{"cost", Text}}
	for name, f := range jsonFields(reflect.ValueOf(&s.Params).Elem()) {
		switch f.Type().Kind() {
		case reflect.Int:
			vars = append(vars, Variable{name, Whole})
		case reflect.Float64:
			vars = append(vars, Variable{name, Number})
		case reflect.Pointer:
			vars = append(vars, Variable{name, Bool})
		}
	}
	slices.SortFunc(vars, func(a, b Variable) int { return strings.Compare(a.Name, b.Name) })
	return slices.DeleteFunc(vars, func(v Variable) bool { return v.Name == "time_scale" })
}

// Value returns the value of a variable as text, Nomad's default where the Spec leaves it
// to that; empty if the Spec leaves it to the cost class, or there is no such variable.
func (s Spec) Value(name string) string {
	if name == "cost" {
		if s.Cost == "" {
			return DefaultCost
		}
		return s.Cost
	}
	defaults := Params{Tuning: TuningDefaults()}
	f, ok := field(&s.Params, name)
	if !ok {
		return ""
	}
	if d, _ := field(&defaults, name); f.IsZero() && f.Kind() != reflect.Pointer {
		f = d
	}
	switch f.Kind() {
	case reflect.Int:
		return strconv.FormatInt(f.Int(), 10)
	case reflect.Float64:
		return formatFloat(f.Float())
	}
	if f.IsNil() {
		return ""
	}
	return strconv.FormatBool(f.Elem().Bool())
}

// Set sets a variable of Variables from text. The error says what its values look like; that
// the Spec can be run with it is for Validate to say.
func (s *Spec) Set(name, value string) error {
	if name == "cost" {
		s.Cost = value
		return nil
	}
	f, ok := field(&s.Params, name)
	if !ok {
		return fmt.Errorf("there is no variable %q", name)
	}
	switch f.Kind() {
	case reflect.Int:
		n, err := strconv.Atoi(value)
		if err != nil {
			return fmt.Errorf("%q is not a whole number", value)
		}
		f.SetInt(int64(n))
	case reflect.Float64:
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return fmt.Errorf("%q is not a number", value)
		}
		f.SetFloat(v)
	case reflect.Pointer:
		v, err := strconv.ParseBool(value)
		if err != nil {
			return fmt.Errorf("%q is neither true nor false", value)
		}
		f.Set(reflect.ValueOf(&v))
	}
	return nil
}

func field(p *Params, name string) (reflect.Value, bool) {
	for n, f := range jsonFields(reflect.ValueOf(p).Elem()) {
		if n == name {
			return f, true
		}
	}
	return reflect.Value{}, false
}

// jsonFields yields the fields of a struct by their names in JSON, those of embedded
// structs among them.
func jsonFields(v reflect.Value) func(func(string, reflect.Value) bool) {
	return func(yield func(string, reflect.Value) bool) {
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if f.Anonymous {
				for name, inner := range jsonFields(v.Field(i)) {
					if !yield(name, inner) {
						return
					}
				}
				continue
			}
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if !yield(name, v.Field(i)) {
				return
			}
		}
	}
}
