package language

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// goValue returns the Go value of a number, a bool or a string; nil for null.
func goValue(value cty.Value) (any, error) {
	switch {
	case value.IsNull():
		return nil, nil
	case value.Type() == cty.Number:
		x, _ := value.AsBigFloat().Float64()
		return x, nil
	case value.Type() == cty.Bool:
		return value.True(), nil
	case value.Type() == cty.String:
		return value.AsString(), nil
	}
	return nil, errors.New("it must be a number, true or false, or text")
}

// ctyValue is the inverse of goValue.
func ctyValue(value any) cty.Value {
	switch x := value.(type) {
	case int64:
		return cty.NumberIntVal(x)
	case float64:
		return cty.NumberFloatVal(x)
	case bool:
		return cty.BoolVal(x)
	case string:
		return cty.StringVal(x)
	}
	return cty.NullVal(cty.DynamicPseudoType)
}

// object returns the value of var in expressions.
func object(variables []Variable) cty.Value {
	values := map[string]cty.Value{}
	for _, v := range variables {
		values[v.Name] = ctyValue(v.Value)
	}
	return cty.ObjectVal(values)
}

// Values are values for variables, from a file.
type Values struct {
	Of map[string]any // by the variable's name: numbers, bools, strings and nil

	at   map[string]Range
	file *hcl.File
}

// Errorf returns an *Error about the value of a variable, which the file must have.
func (v *Values) Errorf(name, summary, format string, args ...any) error {
	return &Error{hcl.Diagnostics{problem(v.at[name], summary, format, args...)}, v.file}
}

// ParseValues reads a file of values for variables, which has attributes only, such as
// nodes = 500.
// The error is an *Error.
func ParseValues(name string, src []byte) (*Values, error) {
	file, err := parse(name, src)
	if err != nil {
		return nil, err
	}
	attrs, diags := file.Body.JustAttributes()
	values := &Values{map[string]any{}, map[string]Range{}, file}
	for _, key := range slices.Sorted(maps.Keys(attrs)) {
		value, more := attrs[key].Expr.Value(nil)
		diags = append(diags, more...)
		if more.HasErrors() {
			continue
		}
		got, err := goValue(value)
		if err != nil {
			diags = append(diags, problem(attrs[key].Expr.Range(), "Wrong type", "%s: %v.", key, err))
		}
		values.Of[key], values.at[key] = got, attrs[key].Range
	}
	if diags.HasErrors() {
		return nil, &Error{diags, file}
	}
	return values, nil
}

// WithValues returns the variables with the values given, each within its own bounds: numbers,
// bools, strings or nil, by name. A string is read as the variable's type says. The error is a
// *VariableError.
func (f *File) WithValues(given map[string]any) ([]Variable, error) {
	out := slices.Clone(f.Variables)
	for _, name := range slices.Sorted(maps.Keys(given)) {
		i := slices.IndexFunc(out, func(v Variable) bool { return v.Name == name })
		if i < 0 {
			return nil, &VariableError{name, textOf(given[name]), f.noSuchVariable(name)}
		}
		value, err := given[name], error(nil)
		text, isText := value.(string)
		switch {
		case isText && text == "null" && out[i].Default == nil:
			value = nil
		case isText:
			value, err = out[i].Parse(text)
		default:
			value, err = out[i].check(value)
		}
		if err != nil {
			return nil, err
		}
		out[i].Value = value
	}
	return out, nil
}

func (f *File) noSuchVariable(name string) string {
	var names []string
	for _, v := range f.Variables {
		names = append(names, v.Name)
	}
	if hint := DidYouMean(name, names); hint != "" {
		return "the scenario has no such variable" + hint
	}
	if len(names) == 0 {
		return "the scenario has no variables"
	}
	return "the scenario has no such variable; its variables are " + strings.Join(names, ", ")
}

// validation decodes a validation block.
func (d *decoder) validation(b *hcl.Block) validation {
	schema := &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "condition", Required: true}, {Name: "error_message", Required: true}}}
	content, diags := b.Body.Content(schema)
	d.diags = append(d.diags, diags...)
	if diags.HasErrors() {
		return validation{}
	}
	return validation{content.Attributes["condition"].Expr, content.Attributes["error_message"].Expr}
}

// validate checks the validations of the variables. The error is about the first that fails.
func (f *File) validate(d *decoder, variables []Variable) error {
	for _, v := range variables {
		for _, rule := range v.validations {
			holds, err := f.must(d, rule.condition, cty.Bool, "A condition must be true or false.")
			if err != nil {
				return err
			}
			if holds.True() {
				continue
			}
			message, err := f.must(d, rule.message, cty.String, "error_message must be text.")
			if err != nil {
				return err
			}
			return &VariableError{v.Name, v.Text(), message.AsString()}
		}
	}
	return nil
}

// must evaluates an expression that must have a value of the type want. Otherwise is the text of the error if it has not.
func (f *File) must(d *decoder, expr hcl.Expression, want cty.Type, otherwise string) (cty.Value, error) {
	got, diags := d.evaluate(expr)
	if diags.HasErrors() {
		return got, f.fail(diags)
	}
	value, ok := to(got, want)
	if !ok || !value.IsKnown() {
		return value, f.fail(hcl.Diagnostics{problem(expr.Range(), "Wrong type", "%s", otherwise)})
	}
	return value, nil
}

// locals evaluates the attributes of locals blocks, each after those that it depends on.
func (d *decoder) locals(blocks []*hcl.Block) {
	attrs := map[string]*hcl.Attribute{}
	for _, b := range blocks {
		found, diags := b.Body.JustAttributes()
		d.diags = append(d.diags, diags...)
		for name, attr := range found {
			if _, twice := attrs[name]; twice {
				d.fail(attr.NameRange, "Duplicate name", "There is another local called %q.", name)
			}
			attrs[name] = attr
		}
	}
	values := map[string]cty.Value{}
	state := map[string]int{} // 1 under way, 2 evaluated
	var work func(name string)
	work = func(name string) {
		attr := attrs[name]
		state[name] = 1
		for _, t := range attr.Expr.Variables() {
			scope, need := named(t)
			if _, ok := attrs[need]; scope != "local" || !ok {
				continue // an unknown name is reported when the expression is evaluated
			}
			switch state[need] {
			case 0:
				if work(need); d.diags.HasErrors() {
					return // name has no error of its own: it only lacks the local that has one
				}
			case 1:
				d.fail(attr.Expr.Range(), "Cycle", "local.%s needs local.%s, which needs it.", name, need)
				state[name] = 2
				return
			}
		}
		state[name] = 2
		d.ctx.Variables["local"] = cty.ObjectVal(values)
		value, diags := d.evaluate(attr.Expr)
		d.diags = append(d.diags, diags...)
		switch {
		case diags.HasErrors():
		case tooLarge(value):
			d.fail(attr.Expr.Range(), "Too large", "The characters and elements of local.%s are more than %d: leave some out.", name, maxLocal)
		default:
			values[name] = value
		}
	}
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		if state[name] == 0 && !d.diags.HasErrors() {
			work(name)
		}
	}
	d.ctx.Variables["local"] = cty.ObjectVal(values)
}

// maxLocal bounds what a local value holds. Without it, a row of locals that each hold the one before twice would double
// the size with each.
const maxLocal = 1 << 20

func tooLarge(value cty.Value) bool {
	left := maxLocal
	return cty.Walk(value, func(_ cty.Path, v cty.Value) (bool, error) {
		left--
		if v.IsKnown() && !v.IsNull() && v.Type() == cty.String {
			left -= len(v.AsString())
		}
		if left < 0 {
			return false, errors.New("too large")
		}
		return true, nil
	}) != nil
}

// named returns SCOPE and NAME of SCOPE.NAME; an empty name if the scope stands alone or an
// index follows it.
func named(t hcl.Traversal) (scope, name string) {
	if len(t) > 1 {
		if attr, ok := t[1].(hcl.TraverseAttr); ok {
			name = attr.Name
		}
	}
	return t.RootName(), name
}
