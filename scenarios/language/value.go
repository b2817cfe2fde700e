package language

import (
	"encoding"
	"maps"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// evaluate returns the value of an expression. For an unknown name it suggests a known one,
// which HCL does not.
func (d *decoder) evaluate(expr hcl.Expression) (cty.Value, hcl.Diagnostics) {
	var missing hcl.Diagnostics
	for _, t := range expr.Variables() {
		if d.ctx == nil {
			break // nothing can be named
		}
		at := t.SourceRange()
		scope, name := named(t)
		values, ok := d.ctx.Variables[scope]
		if !ok && len(t) == 1 {
			missing = append(missing, problem(at, "Unknown name", "There is no %s here: a text stands in quotes, a variable behind var. and a local one behind local.", scope))
		}
		if !ok || name == "" || values.Type().HasAttribute(name) {
			continue
		}
		var known []string
		for _, name := range slices.Sorted(maps.Keys(values.Type().AttributeTypes())) {
			known = append(known, scope+"."+name)
		}
		missing = append(missing, problem(at, "Unknown name", "%s", unknown(scope+"."+name, known)))
	}
	if missing.HasErrors() {
		return cty.DynamicVal, missing
	}
	return expr.Value(d.ctx)
}

// attribute stores the value of an attribute in a field. Null is like no attribute.
func (d *decoder) attribute(attr *hcl.Attribute, f field) {
	value, diags := d.evaluate(attr.Expr)
	d.diags = append(d.diags, diags...)
	if diags.HasErrors() || value.IsNull() {
		return
	}
	at := attr.Expr.Range()
	if !value.IsWhollyKnown() {
		d.fail(at, "Unknown value", "The value of %s cannot be worked out.", f.name)
		return
	}
	d.store(value, f, at)
}

func (d *decoder) store(value cty.Value, f field, at Range) {
	target := f.value
	if target.Kind() == reflect.Pointer {
		target = reflect.New(f.value.Type().Elem())
		f.value.Set(target)
		target = target.Elem()
	}
	switch {
	case target.Addr().Type().Implements(textType): // such as a server's name
		if s, ok := d.text(value, f, at); ok {
			if err := target.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(s)); err != nil {
				d.fail(at, "Bad "+f.name, "%v.", err)
			}
		}
		return
	case target.Type() == nameType:
		s, _ := d.text(value, f, at)
		target.Set(reflect.ValueOf(Name{s, at}))
		return
	case target.Type() == distributionType, target.Type() == durationType:
		d.duration(value, f, target, at)
		return
	}
	switch target.Kind() {
	case reflect.String:
		s, _ := d.text(value, f, at)
		target.SetString(s)
	case reflect.Bool:
		if v, ok := to(value, cty.Bool); ok {
			target.SetBool(v.True())
		} else {
			d.fail(at, "Wrong type", "%s must be true or false.", f.name)
		}
	case reflect.Slice:
		d.list(value, f, target, at)
	case reflect.Map:
		d.table(value, f.name, target, at)
	default:
		d.number(value, f, target, at)
	}
}

// to converts a value; ok is false if there is no such value of that type.
func to(value cty.Value, want cty.Type) (cty.Value, bool) {
	if value.Type().IsCapsuleType() {
		return value, false
	}
	v, err := convert.Convert(value, want)
	return v, err == nil && !v.IsNull()
}

func (d *decoder) text(value cty.Value, f field, at Range) (string, bool) {
	v, ok := to(value, cty.String)
	if !ok {
		d.fail(at, "Wrong type", "%s must be text.", f.name)
		return "", false
	}
	s := strings.ReplaceAll(v.AsString(), "\r\n", "\n") // lines end so in files of Windows
	if s != Printable(s) {
		d.fail(at, "Control character", "%s has a control character: leave it out.", f.name)
		return "", false
	}
	if len(f.tag.oneof) > 0 && !slices.Contains(f.tag.oneof, s) {
		d.fail(at, "Unknown "+f.name, "%s", unknown(s, f.tag.oneof))
	}
	if f.tag.ref != "" && s != "" {
		d.refs = append(d.refs, reference{f.tag.ref, s, at})
	}
	return s, true
}

func (d *decoder) number(value cty.Value, f field, target reflect.Value, at Range) {
	v, ok := to(value, cty.Number)
	if !ok {
		d.fail(at, "Wrong type", "%s must be a number.", f.name)
		return
	}
	x, _ := v.AsBigFloat().Float64()
	least := 0.0
	if f.tag.min != nil {
		least = *f.tag.min
	}
	switch {
	case x > 1e300 || x < -1e300:
		d.fail(at, "Out of range", "%s is too large.", f.name)
		return
	case !f.tag.any && x < least, f.tag.above && x <= 0, f.tag.max != nil && x > *f.tag.max:
		d.fail(at, "Out of range", "%s is %s; it must be %s.", f.name, plain(v), f.tag.span(least))
		return
	}
	if target.Kind() == reflect.Float64 {
		target.SetFloat(x)
		return
	}
	n, accuracy := v.AsBigFloat().Int64()
	if accuracy != big.Exact || (target.CanUint() && n < 0) {
		d.fail(at, "Not a whole number", "%s is %s; it must be a whole number, as ceil(…), floor(…) or round(…) makes it.", f.name, plain(v))
		return
	}
	if target.CanUint() {
		target.SetUint(uint64(n))
	} else {
		target.SetInt(n)
	}
}

func (d *decoder) list(value cty.Value, f field, target reflect.Value, at Range) {
	if !value.Type().IsTupleType() && !value.Type().IsListType() {
		d.fail(at, "Wrong type", "%s must be a list, such as [%s].", f.name,
			map[bool]string{true: "1, 2", false: `"one", "two"`}[target.Type().Elem().Kind() == reflect.Int])
		return
	}
	out := reflect.MakeSlice(target.Type(), 0, value.LengthInt())
	for _, v := range value.AsValueSlice() {
		elem := reflect.New(target.Type().Elem()).Elem()
		if v.IsNull() {
			d.fail(at, "Wrong type", "%s must hold no null.", f.name)
			continue
		}
		d.store(v, field{f.layout, elem}, at)
		out = reflect.Append(out, elem)
	}
	target.Set(out)
}

func (d *decoder) table(value cty.Value, name string, target reflect.Value, at Range) {
	v, ok := to(value, cty.Map(cty.String))
	if !ok {
		d.fail(at, "Wrong type", `%s must be names and texts, such as { "os.name" = "ubuntu" }.`, name)
		return
	}
	out := map[string]string{}
	for key, text := range v.AsValueMap() {
		if !text.IsNull() {
			out[key] = text.AsString()
		}
	}
	target.Set(reflect.ValueOf(out))
}

// evenly is what a distribution that is constant or uniform looks like.
const evenly = `a duration such as "90s", or uniform("1m", "5m")`

// duration stores a duration. A Distribution also takes what one of the functions returned.
func (d *decoder) duration(value cty.Value, f field, target reflect.Value, at Range) {
	distributed := target.Type() == distributionType
	switch {
	case distributed && value.Type().Equals(distributionValue):
		drawn := value.EncapsulatedValue().(*Distribution)
		if f.tag.even && drawn.Kind != "constant" && drawn.Kind != "uniform" {
			d.fail(at, "Wrong distribution", "%s is %s; it must be %s.", f.name, drawn.Kind, evenly)
			return
		}
		target.Set(reflect.ValueOf(*drawn))
		return
	case value.Type() == cty.String:
	case distributed && f.tag.even:
		d.fail(at, "Not a distribution", "%s must be %s.", f.name, evenly)
		return
	case distributed:
		d.fail(at, "Not a distribution", `%s must be a duration such as "90s", or uniform("1m", "5m"), exponential("10m") or normal("5m", "1m").`, f.name)
		return
	default:
		d.fail(at, "Not a duration", `%s must be a duration in quotes, such as "90s", "1.5ms" or "2h".`, f.name)
		return
	}
	v, err := parseDuration(value.AsString())
	switch {
	case err != nil:
		d.fail(at, "Not a duration", "%s: %v.", f.name, err)
	case distributed:
		target.Set(reflect.ValueOf(Distribution{Kind: "constant", A: v}))
	case f.tag.above && v == 0:
		d.fail(at, "Out of range", "%s must be above 0.", f.name)
	default:
		target.SetInt(int64(v))
	}
}

// plain formats a number without an exponent if it is whole.
func plain(v cty.Value) string {
	f := v.AsBigFloat()
	if n, accuracy := f.Int64(); accuracy == big.Exact {
		return strconv.FormatInt(n, 10)
	}
	x, _ := f.Float64()
	return formatNumber(x)
}

func formatNumber(f float64) string {
	if f == math.Trunc(f) && math.Abs(f) < 1e15 {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return strings.Replace(strconv.FormatFloat(f, 'g', -1, 64), "e+0", "e", 1)
}
