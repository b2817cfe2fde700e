package language

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Types of variables.
const (
	TypeInteger  = "integer"
	TypeNumber   = "number"
	TypeBool     = "bool"
	TypeString   = "string"
	TypeDuration = "duration"
)

// Variable is a parameter of a scenario.
type Variable struct {
	Name        string `lang:"label=variable"`
	Description string
	Type        string `lang:"required,oneof=integer|number|bool|string|duration"`
	// Optional says that most runs keep the default. The description of a run names the
	// variable only if this one does not.
	Optional bool
	Min, Max *float64 `lang:"any"`
	OneOf    []string
	At       Range

	// Default and Value are an int64, a float64, a bool or a string; with nil, whatever uses the
	// variable has its own default.
	Default any `lang:"-"`
	Value   any `lang:"-"`

	validations []validation
}

// validation is a condition on variables, checked when all have their values.
type validation struct {
	condition, message hcl.Expression
}

// IsDefault reports whether the variable has its default.
func (v Variable) IsDefault() bool { return v.Value == v.Default }

// Text formats the value as a command line accepts it.
func (v Variable) Text() string { return textOf(v.Value) }

func textOf(value any) string {
	if value == nil {
		return "null"
	}
	return fmt.Sprint(value)
}

// Parse reads a value from text, such as a command line's.
func (v Variable) Parse(text string) (any, error) {
	var value any
	var err error
	switch v.Type {
	case TypeInteger:
		value, err = strconv.ParseInt(text, 10, 64)
		if errors.Is(err, strconv.ErrRange) {
			return nil, &VariableError{v.Name, text, "it must be a whole number of at most 18 digits"}
		}
	case TypeNumber:
		value, err = strconv.ParseFloat(text, 64)
	case TypeBool:
		value, err = strconv.ParseBool(text)
	default:
		value = text
	}
	if err != nil {
		value = text // check says what it must be
	}
	return v.check(value)
}

func (v Variable) example() string {
	if v.Default == nil {
		return ""
	}
	return ", such as " + textOf(v.Default)
}

// check converts a value of any Go type that JSON or a caller may use to the variable's type,
// and checks its bounds. Nil stays nil.
func (v Variable) check(value any) (any, error) {
	if value == nil {
		return nil, nil
	}
	fail := func(format string, args ...any) (any, error) {
		return nil, &VariableError{v.Name, textOf(value), fmt.Sprintf(format, args...)}
	}
	switch v.Type {
	case TypeInteger:
		n, ok := wholeOf(value)
		if !ok {
			return fail("it must be a whole number%s", v.example())
		}
		if !v.within(float64(n)) {
			return fail("it must be a whole number %s", v.bounds())
		}
		return n, nil
	case TypeNumber:
		x, ok := floatOf(value)
		if !ok {
			return fail("it must be a number%s", v.example())
		}
		if !v.within(x) || math.IsInf(x, 0) {
			return fail("it must be a number %s", v.bounds())
		}
		return x, nil
	case TypeBool:
		b, ok := value.(bool)
		if !ok {
			return fail("it must be true or false")
		}
		return b, nil
	}
	s, ok := value.(string)
	if !ok {
		return fail("it must be text")
	}
	if v.Type == TypeDuration {
		if _, err := parseDuration(s); err != nil {
			return fail(`it must be a duration, such as "90s" or "1.5ms"`)
		}
	}
	if len(v.OneOf) > 0 && !slices.Contains(v.OneOf, s) {
		return fail("%s", Instead(s, v.OneOf))
	}
	return s, nil
}

// misfit says which bounds do not fit the variable's type or each other; "" if all do.
func (v Variable) misfit() string {
	numeric := v.Type == TypeInteger || v.Type == TypeNumber
	switch {
	case v.OneOf != nil && (numeric || v.Type == TypeBool):
		return fmt.Sprintf("%s is of type %s, and one_of is for a string or a duration: leave it out, or write a validation block.", v.Name, v.Type)
	case (v.Min != nil || v.Max != nil) && !numeric:
		return fmt.Sprintf("%s is of type %s, and min and max are for an integer or a number: leave them out, or write a validation block.", v.Name, v.Type)
	case v.OneOf != nil && len(v.OneOf) == 0:
		return fmt.Sprintf("one_of is empty, so that %s can have no value: list its texts, or leave it out.", v.Name)
	case v.Min != nil && v.Max != nil && *v.Min > *v.Max:
		return fmt.Sprintf("min is %s and max is %s, so that %s can have no value: swap them.", formatNumber(*v.Min), formatNumber(*v.Max), v.Name)
	}
	return ""
}

// within reports whether x is within the bounds; a NaN is not.
func (v Variable) within(x float64) bool {
	return x == x && (v.Min == nil || x >= *v.Min) && (v.Max == nil || x <= *v.Max)
}

func (v Variable) bounds() string {
	bound := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	switch {
	case v.Min != nil && v.Max != nil:
		return fmt.Sprintf("from %s to %s", bound(*v.Min), bound(*v.Max))
	case v.Min != nil:
		return "of at least " + bound(*v.Min)
	case v.Max != nil:
		return "of at most " + bound(*v.Max)
	}
	return "that is finite"
}

func wholeOf(value any) (int64, bool) {
	switch x := value.(type) {
	case int:
		return int64(x), true
	case int64:
		return x, true
	case float64:
		return int64(x), x == math.Trunc(x) && math.Abs(x) < 1<<62
	}
	return 0, false
}

func floatOf(value any) (float64, bool) {
	if x, ok := value.(float64); ok {
		return x, true
	}
	n, ok := wholeOf(value)
	return float64(n), ok
}

// variable decodes a variable block.
func (d *decoder) variable(b *hcl.Block) Variable {
	v := Variable{}
	special := &hcl.BodySchema{
		Attributes: []hcl.AttributeSchema{{Name: "default", Required: true}},
		Blocks:     []hcl.BlockHeaderSchema{{Type: "validation"}},
	}
	content, rest, diags := b.Body.PartialContent(special)
	d.diags = append(d.diags, diags...)
	d.block(&hcl.Block{Type: b.Type, Labels: b.Labels, LabelRanges: b.LabelRanges, DefRange: b.DefRange, Body: rest}, reflect.ValueOf(&v).Elem())
	if len(b.Labels) == 1 && !hclsyntax.ValidIdentifier(v.Name) {
		d.fail(b.LabelRanges[0], "Bad name", "A variable is named by letters, digits and underscores, such as system_jobs.")
	}
	for _, inner := range content.Blocks {
		v.validations = append(v.validations, d.validation(inner))
	}
	attr, ok := content.Attributes["default"]
	if !ok || d.diags.HasErrors() {
		return v
	}
	if wrong := v.misfit(); wrong != "" {
		d.fail(b.DefRange, "Bounds that do not fit", "%s", wrong)
		return v
	}
	value, diags := attr.Expr.Value(nil)
	d.diags = append(d.diags, diags...)
	if diags.HasErrors() {
		return v
	}
	got, err := goValue(value)
	if err != nil {
		err = fmt.Errorf("variable %s: %w", v.Name, err)
	} else {
		got, err = v.check(got)
	}
	if err != nil {
		d.fail(attr.Expr.Range(), "Wrong default", "%v.", err)
	}
	v.Default, v.Value = got, got
	return v
}
