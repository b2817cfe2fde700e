package language

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// decoder fills structs from bodies. A field whose attribute is absent keeps its value; an
// unknown attribute is an error.
type decoder struct {
	ctx   *hcl.EvalContext
	vocab Vocabulary
	// extra are attributes that every body may have, for people alone.
	extra []string

	diags    hcl.Diagnostics
	declared map[string][]string // names by kind
	refs     []reference
}

// reference is the use of a name, to be checked when all names are known.
type reference struct {
	kind, name string
	at         Range
}

// DecodeFigures fills the struct that target points to from a text of attributes and
// blocks without variables. Any body may have an attribute source, which says where its
// figures come from. The error is an *Error.
func DecodeFigures(name string, src []byte, target any) error {
	file, err := parseAgain(name, src)
	if err != nil {
		return err
	}
	d := &decoder{extra: []string{"source"}}
	d.body(file.Body, reflect.ValueOf(target).Elem())
	if d.diags.HasErrors() {
		return &Error{d.diags, file}
	}
	return nil
}

func (d *decoder) fail(at Range, summary, format string, args ...any) {
	d.diags = append(d.diags, problem(at, summary, format, args...))
}

// body fills a struct from a body without labels. It skips blocks of the types ignored.
func (d *decoder) body(body hcl.Body, v reflect.Value, ignored ...hcl.BlockHeaderSchema) {
	d.fields(body, fieldsOf(v), ignored...)
}

// block fills a struct from a block: its labels, its place and its body.
func (d *decoder) block(b *hcl.Block, v reflect.Value) {
	fields := fieldsOf(v)
	label := 0
	for _, f := range fields {
		switch {
		case f.value.Type() == rangeType:
			f.value.Set(reflect.ValueOf(b.DefRange))
		case f.tag.label && label < len(b.Labels):
			f.value.SetString(b.Labels[label])
			if kind := f.tag.declares; kind != "" {
				d.declare(kind, b.Labels[label], b.LabelRanges[label])
			}
			label++
		}
	}
	for _, f := range fields {
		if f.tag.keyed != "" {
			args, ok := d.keyed(f.tag.keyed, b)
			if !ok {
				return
			}
			f.value.Set(args)
			fields = append(fields, fieldsOf(args.Elem())...)
		}
	}
	d.fields(b.Body, fields)
}

// keyed returns a copy of the struct that the vocabulary has for a block, by the kind of the
// block and, for kinds with several, by its first label.
func (d *decoder) keyed(kind string, b *hcl.Block) (reflect.Value, bool) {
	switch kind {
	case "cluster":
		return clone(d.vocab.Cluster), true
	case "cost":
		return d.costs(b)
	}
	words := map[string]map[string]any{
		"event": d.vocab.Events, "condition": d.vocab.Conditions, "behaviour": d.vocab.Behaviours,
	}[kind]
	prototype, ok := words[b.Labels[0]]
	if !ok {
		d.fail(b.LabelRanges[0], "Unknown "+kind, "%s", unknown(b.Labels[0], slices.Sorted(maps.Keys(words))))
		return reflect.Value{}, false
	}
	return clone(prototype), true
}

// costs returns the figures of the class that a cost block names.
func (d *decoder) costs(b *hcl.Block) (reflect.Value, bool) {
	class, at := "", b.DefRange
	content, _, _ := b.Body.PartialContent(&hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "class"}}})
	if attr, ok := content.Attributes["class"]; ok {
		at = attr.Expr.Range()
		// Decoding the body reports a value that is no text.
		if v, diags := attr.Expr.Value(d.ctx); !diags.HasErrors() && v.IsWhollyKnown() && v.Type() == cty.String && !v.IsNull() {
			class = v.AsString()
		}
	}
	figures, err := d.vocab.Costs(class)
	if err != nil {
		d.fail(at, "Unknown cost class", "%v.", err)
		return reflect.Value{}, false
	}
	return reflect.ValueOf(figures), true
}

// clone returns a pointer to a copy of the struct that prototype points to.
func clone(prototype any) reflect.Value {
	from := reflect.ValueOf(prototype).Elem()
	to := reflect.New(from.Type())
	to.Elem().Set(from)
	return to
}

func (d *decoder) declare(kind, name string, at Range) {
	switch {
	case name == "":
		d.fail(at, "Empty name", "A %s needs a name.", kind)
	case kind != "threshold" && strings.ContainsAny(name, ". /\\\"\n\t"):
		d.fail(at, "Bad name", "The name of a %s must hold no spaces, dots, slashes or quotes.", kind)
	case slices.Contains(d.declared[kind], name):
		d.fail(at, "Duplicate name", "There is another %s called %q.", kind, name)
	}
	if d.declared == nil {
		d.declared = map[string][]string{}
	}
	d.declared[kind] = append(d.declared[kind], name)
}

// placeKeyword says where a keyword belongs that stands for a block of its own.
func (d *decoder) placeKeyword(of *hcl.Diagnostic) {
	word := ""
	if _, err := fmt.Sscanf(of.Detail, "Blocks of type %q", &word); err != nil {
		return
	}
	for _, k := range []struct {
		words       map[string]any
		what, write string
	}{
		{d.vocab.Events, "an event", "event %q { … } in a phase"},
		{d.vocab.Conditions, "a condition", "until %q { … } in a phase"},
		{d.vocab.Behaviours, "a kind of behaviour", "behaviour %q \"NAME\" { … }"},
	} {
		if _, ok := k.words[word]; ok {
			of.Detail = fmt.Sprintf("%s is %s: write "+k.write+".", word, k.what, word)
			return
		}
	}
}

// fields fills fields from a body.
func (d *decoder) fields(body hcl.Body, fields []field, ignored ...hcl.BlockHeaderSchema) {
	schema, byName := schemaOf(fields, d.extra)
	schema.Blocks = append(schema.Blocks, ignored...)
	content, diags := body.Content(schema)
	for _, one := range diags {
		d.placeKeyword(one)
	}
	d.diags = append(d.diags, diags...)
	for _, name := range slices.Sorted(maps.Keys(content.Attributes)) {
		if f, ok := byName[name]; ok {
			d.attribute(content.Attributes[name], f)
		}
	}
	for _, f := range fields {
		if f.tag.said {
			f.value.Set(reflect.ValueOf(slices.Sorted(maps.Keys(content.Attributes))))
		}
	}
	seen := map[string]bool{}
	for _, b := range content.Blocks {
		f, ok := byName[b.Type]
		if !ok {
			continue
		}
		key := b.Type
		if f.value.Kind() == reflect.Map { // one for each label
			key = strings.Join(append([]string{b.Type}, b.Labels...), " ")
		}
		if f.value.Kind() != reflect.Slice && seen[key] {
			d.fail(b.DefRange, "Duplicate block", "There is a second %s block.", key)
			continue
		}
		seen[key] = true
		d.nested(b, f)
	}
	for _, f := range fields {
		_, isAttr := content.Attributes[f.name]
		isBlock := slices.ContainsFunc(content.Blocks, func(b *hcl.Block) bool { return b.Type == f.name })
		if f.tag.required && !isAttr && !isBlock {
			d.fail(content.MissingItemRange, "Missing "+f.name, "There is no %s here, and there must be one.", f.name)
		}
	}
}

// nested fills a field from a block of its name.
func (d *decoder) nested(b *hcl.Block, f field) {
	switch f.value.Kind() {
	case reflect.Slice:
		elem := reflect.New(f.value.Type().Elem()).Elem()
		d.block(b, elem)
		f.value.Set(reflect.Append(f.value, elem))
	case reflect.Pointer:
		elem := reflect.New(f.value.Type().Elem())
		d.block(b, elem.Elem())
		f.value.Set(elem)
	case reflect.Map: // the block replaces single figures of an element
		key := reflect.ValueOf(b.Labels[0])
		elem := reflect.New(f.value.Type().Elem()).Elem()
		if old := f.value.MapIndex(key); old.IsValid() {
			elem.Set(old)
		}
		d.body(b.Body, elem)
		if f.value.IsNil() {
			f.value.Set(reflect.MakeMap(f.value.Type()))
		}
		f.value.SetMapIndex(key, elem)
	default:
		d.block(b, f.value)
	}
}

// resolve reports references to names that nothing declares.
func (d *decoder) resolve() {
	for _, r := range d.refs {
		if !slices.Contains(d.declared[r.kind], r.name) {
			d.fail(r.at, "Unknown "+r.kind, "%s", unknown(r.name, d.declared[r.kind]))
		}
	}
}
