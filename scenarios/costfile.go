package scenarios

import (
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// A cost file has an attribute for every figure of cluster.Costs and a block for every
// group of them, named as in Go but in snake case: rpc { wait_index_scan = "0.1us" }. The
// correspondence is by reflection, so that a new figure of the model needs no second
// place here. Any body may say where its figures come from in an attribute "source".

var durationType = reflect.TypeFor[time.Duration]()

// decodeBody fills the struct that target points to. What is absent stays zero; what is
// not known is an error.
func decodeBody(body hcl.Body, target any) hcl.Diagnostics {
	return decodeStruct(body, reflect.ValueOf(target).Elem())
}

func decodeStruct(body hcl.Body, v reflect.Value) hcl.Diagnostics {
	schema := &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "source"}}}
	fields := map[string]reflect.Value{}
	for name, f := range fieldsOf(v) {
		fields[name] = f
		switch f.Kind() {
		case reflect.Struct:
			schema.Blocks = append(schema.Blocks, hcl.BlockHeaderSchema{Type: name})
		case reflect.Map:
			schema.Blocks = append(schema.Blocks, hcl.BlockHeaderSchema{Type: name, LabelNames: []string{"type"}})
		default:
			if name != "source" {
				schema.Attributes = append(schema.Attributes, hcl.AttributeSchema{Name: name})
			}
		}
	}
	content, diags := body.Content(schema)
	for _, name := range slices.Sorted(maps.Keys(content.Attributes)) {
		attr := content.Attributes[name]
		target := fields[name]
		if !target.IsValid() { // a source that nothing but people read
			target = reflect.New(reflect.TypeFor[string]()).Elem()
		}
		diags = append(diags, decodeAttribute(attr, target)...)
	}
	seen := map[string]bool{}
	for _, block := range content.Blocks {
		key := strings.Join(append([]string{block.Type}, block.Labels...), " ")
		if seen[key] {
			diags = append(diags, problem(block.DefRange, "Duplicate block", "There is a second %s block.", key))
			continue
		}
		seen[key] = true
		diags = append(diags, decodeBlock(block, fields[block.Type])...)
	}
	return diags
}

func decodeBlock(block *hcl.Block, field reflect.Value) hcl.Diagnostics {
	if field.Kind() == reflect.Struct {
		return decodeStruct(block.Body, field)
	}
	elem := reflect.New(field.Type().Elem()).Elem()
	diags := decodeStruct(block.Body, elem)
	if field.IsNil() {
		field.Set(reflect.MakeMap(field.Type()))
	}
	field.SetMapIndex(reflect.ValueOf(block.Labels[0]), elem)
	return diags
}

// decodeAttribute stores a figure: a duration is text such as "2.2us"; none is negative.
func decodeAttribute(attr *hcl.Attribute, target reflect.Value) hcl.Diagnostics {
	value, diags := attr.Expr.Value(nil)
	if diags.HasErrors() {
		return diags
	}
	at := attr.Expr.Range()
	want := map[reflect.Kind]cty.Type{
		reflect.String: cty.String, reflect.Int64: cty.String, reflect.Float64: cty.Number, reflect.Int: cty.Number, reflect.Bool: cty.Bool,
	}[target.Kind()]
	value, err := convert.Convert(value, want)
	if err != nil || value.IsNull() || !value.IsKnown() {
		return hcl.Diagnostics{problem(at, "Wrong type", "%s must be a %s.", attr.Name, want.FriendlyName())}
	}
	switch target.Kind() {
	case reflect.String:
		target.SetString(value.AsString())
	case reflect.Bool:
		target.SetBool(value.True())
	case reflect.Int:
		n, accuracy := value.AsBigFloat().Int64()
		if accuracy != big.Exact || n < 0 {
			return hcl.Diagnostics{problem(at, "Not a count", "%s must be a whole number of 0 or more.", attr.Name)}
		}
		target.SetInt(n)
	case reflect.Float64:
		f, _ := value.AsBigFloat().Float64()
		if f < 0 {
			return hcl.Diagnostics{problem(at, "Negative value", "%s is %v; it must be 0 or more.", attr.Name, f)}
		}
		target.SetFloat(f)
	default:
		d, err := time.ParseDuration(value.AsString())
		if err != nil || d < 0 {
			return hcl.Diagnostics{problem(at, "Not a duration", "%s is %q; it must be a duration of 0 or more, such as \"2.2us\" or \"1.5ms\".", attr.Name, value.AsString())}
		}
		target.SetInt(int64(d))
	}
	return nil
}

func problem(at hcl.Range, summary, format string, args ...any) *hcl.Diagnostic {
	return &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: fmt.Sprintf(format, args...), Subject: &at}
}

// fieldsOf yields the fields of a struct by their names in a file, those of embedded
// structs among them, in the order of the source.
func fieldsOf(v reflect.Value) func(func(string, reflect.Value) bool) {
	return func(yield func(string, reflect.Value) bool) {
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if f.Anonymous {
				for name, inner := range fieldsOf(v.Field(i)) {
					if !yield(name, inner) {
						return
					}
				}
				continue
			}
			if !yield(snakeCase(f.Name), v.Field(i)) {
				return
			}
		}
	}
}

// snakeCase turns WaitIndexScan into wait_index_scan, RPC into rpc and PerKiB into per_kib.
func snakeCase(name string) string {
	runes := []rune(strings.ReplaceAll(name, "KiB", "Kib"))
	var b strings.Builder
	for i, r := range runes {
		if unicode.IsUpper(r) && i > 0 && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// figures calls fn for every figure that is not zero, by its path in a file.
func figures(target any, fn func(path string, value any)) {
	walk("", reflect.ValueOf(target).Elem(), func(path string, v reflect.Value) {
		if !v.IsZero() {
			fn(path, v.Interface())
		}
	})
}

func walk(prefix string, v reflect.Value, leaf func(string, reflect.Value)) {
	for name, f := range fieldsOf(v) {
		switch f.Kind() {
		case reflect.Struct:
			walk(prefix+name+".", f, leaf)
		case reflect.Map:
			keys := f.MapKeys()
			slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
			for _, k := range keys {
				elem := reflect.New(f.Type().Elem()).Elem()
				elem.Set(f.MapIndex(k))
				walk(prefix+name+"."+k.String()+".", elem, leaf)
				f.SetMapIndex(k, elem)
			}
		default:
			leaf(prefix+name, f)
		}
	}
}

// scaleDurations returns a copy of a struct of figures with its durations multiplied.
func scaleDurations[T any](figures T, factor float64) T {
	v := reflect.ValueOf(&figures).Elem()
	for _, f := range fieldsOf(v) {
		if f.Kind() == reflect.Map { // shared with the original
			fresh := reflect.MakeMap(f.Type())
			for _, k := range f.MapKeys() {
				fresh.SetMapIndex(k, f.MapIndex(k))
			}
			f.Set(fresh)
		}
	}
	walk("", v, func(_ string, f reflect.Value) {
		if f.Type() == durationType {
			f.SetInt(int64(float64(f.Int()) * factor))
		}
	})
	return figures
}
