package language

import (
	"cmp"
	"encoding"
	"iter"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/hashicorp/hcl/v2"
)

var (
	durationType     = reflect.TypeFor[time.Duration]()
	rangeType        = reflect.TypeFor[Range]()
	distributionType = reflect.TypeFor[Distribution]()
	nameType         = reflect.TypeFor[Name]()
	textType         = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// field is a field of a struct that a body fills.
type field struct {
	layout
	value reflect.Value
}

// layout is what the type of a struct says of a field.
type layout struct {
	name  string // in a file
	index []int
	tag   tag
}

// layouts has those of each type that was asked for, as []layout: to read tags takes a third of the time of compiling.
var layouts sync.Map

// tag is what the tag `lang:"…"` of a field says.
type tag struct {
	name     string // in a file; empty = the field's in snake case
	label    bool   // the field takes a label of the block …
	declares string // … which declares a thing of that kind
	keyed    string // the field takes a struct of the vocabulary, chosen by the first label
	ref      string // the value names a thing of that kind
	said     bool   // the field takes the names of the attributes that the body has
	required bool
	any      bool // negative numbers are allowed
	above    bool // zero is not
	even     bool // a Distribution is constant or uniform
	min, max *float64
	oneof    []string
}

// span describes the numbers that a field accepts, from least on.
func (t tag) span(least float64) string {
	from := formatNumber(least)
	switch {
	case t.max == nil && t.above:
		return "above 0"
	case t.max == nil:
		return from + " or more"
	case t.any && t.min == nil:
		return formatNumber(*t.max) + " at most"
	case t.above:
		return "above 0, up to " + formatNumber(*t.max)
	}
	return "from " + from + " to " + formatNumber(*t.max)
}

func parseTag(text string) tag {
	t := tag{}
	for part := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(part, "=")
		switch key {
		case "name":
			t.name = value
		case "label":
			t.label, t.declares = true, value
		case "keyed":
			t.keyed = value
		case "ref":
			t.ref = value
		case "said":
			t.said = true
		case "required":
			t.required = true
		case "any":
			t.any = true
		case "above":
			t.above = true
		case "even":
			t.even = true
		case "min":
			t.min = bound(value)
		case "max":
			t.max = bound(value)
		case "oneof":
			t.oneof = strings.Split(value, "|")
		}
	}
	return t
}

func bound(text string) *float64 {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic("language: tag: " + err.Error()) // tags are source code
	}
	return &f
}

// fieldsOf returns the exported fields of a struct, including those of embedded structs, in
// the order of the source.
func fieldsOf(v reflect.Value) []field {
	var fields []field
	for _, l := range layoutsOf(v.Type()) {
		fields = append(fields, field{l, v.FieldByIndex(l.index)})
	}
	return fields
}

func layoutsOf(t reflect.Type) []layout {
	if known, ok := layouts.Load(t); ok {
		return known.([]layout)
	}
	var all []layout
	for i := range t.NumField() {
		f := t.Field(i)
		switch {
		case f.Anonymous:
			for _, l := range layoutsOf(f.Type) {
				l.index = append([]int{i}, l.index...)
				all = append(all, l)
			}
		case f.Tag.Get("lang") == "-" || !f.IsExported():
		default:
			tag := parseTag(f.Tag.Get("lang"))
			all = append(all, layout{cmp.Or(tag.name, snakeCase(f.Name)), f.Index, tag})
		}
	}
	layouts.Store(t, all)
	return all
}

// Fields yields the fields of a struct by their names in a file, including those of embedded
// structs, in the order of the source.
func Fields(v reflect.Value) iter.Seq2[string, reflect.Value] {
	return func(yield func(string, reflect.Value) bool) {
		for _, f := range fieldsOf(v) {
			if !yield(f.name, f.value) {
				return
			}
		}
	}
}

// schemaOf returns what a body that fills the fields may hold, and the fields by name.
func schemaOf(fields []field, extra []string) (*hcl.BodySchema, map[string]field) {
	schema := &hcl.BodySchema{}
	byName := map[string]field{}
	for _, f := range fields {
		if f.tag.label || f.tag.said || f.tag.keyed != "" || f.value.Type() == rangeType {
			continue
		}
		byName[f.name] = f
		if isBlock(f.value.Type()) {
			schema.Blocks = append(schema.Blocks, hcl.BlockHeaderSchema{Type: f.name, LabelNames: labelsOf(f.value.Type())})
		} else {
			schema.Attributes = append(schema.Attributes, hcl.AttributeSchema{Name: f.name})
		}
	}
	for _, name := range extra {
		if _, ok := byName[name]; !ok {
			schema.Attributes = append(schema.Attributes, hcl.AttributeSchema{Name: name})
		}
	}
	return schema, byName
}

// isBlock reports whether a field of type t is filled by blocks.
func isBlock(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		t = t.Elem()
	}
	return t.Kind() == reflect.Struct && t != distributionType && t != nameType
}

// labelsOf returns the labels of the blocks that fill a field of type t.
func labelsOf(t reflect.Type) []string {
	switch t.Kind() {
	case reflect.Map:
		return []string{"type"}
	case reflect.Pointer, reflect.Slice:
		t = t.Elem()
	}
	var labels []string
	for _, l := range layoutsOf(t) {
		if l.tag.label {
			labels = append(labels, l.name)
		}
	}
	return labels
}

// snakeCase turns WaitIndexScan into wait_index_scan, RPC into rpc and PerKiB into per_kib:
// the name of a field in a file.
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
