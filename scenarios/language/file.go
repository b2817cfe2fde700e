package language

import (
	"reflect"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
)

// File is a scenario file with correct syntax and known variables. It is immutable.
type File struct {
	Title     string
	Variables []Variable // Value is the default

	parsed *hcl.File
	locals []*hcl.Block
}

// header is the part of a file that needs no values.
var header = &hcl.BodySchema{
	Attributes: []hcl.AttributeSchema{{Name: "title", Required: true}},
	Blocks: []hcl.BlockHeaderSchema{
		{Type: "variable", LabelNames: []string{"name"}},
		{Type: "locals"},
	},
}

// Open reads the syntax, the title and the variables of a scenario file; name is shown in
// errors, which are of type *Error.
func Open(name string, src []byte) (*File, error) { return opened(parse(name, src)) }

// OpenOwn is Open for a text that comes with the program. It does not look for what would harm the parser or a terminal, which takes
// a third of the time.
func OpenOwn(name string, src []byte) (*File, error) { return opened(syntax(name, src)) }

// opened reads the title and the variables of a file whose syntax was read.
func opened(parsed *hcl.File, err error) (*File, error) {
	if err != nil {
		return nil, err
	}
	f := &File{parsed: parsed}
	content, _, diags := parsed.Body.PartialContent(header)
	d := &decoder{}
	if title, ok := content.Attributes["title"]; ok {
		d.attribute(title, field{layout{name: "title"}, reflect.ValueOf(&f.Title).Elem()})
	}
	for _, b := range content.Blocks {
		if b.Type == "locals" {
			f.locals = append(f.locals, b)
			continue
		}
		f.Variables = append(f.Variables, d.variable(b))
	}
	if diags = append(diags, d.diags...); diags.HasErrors() {
		return nil, f.fail(diags)
	}
	return f, nil
}

// Define evaluates the file. Given are the values of variables that do not have their
// defaults, as in WithValues. The error is an *Error or a *VariableError.
func (f *File) Define(vocabulary Vocabulary, given map[string]any) (*Definition, error) {
	values, err := f.WithValues(given)
	if err != nil {
		return nil, err
	}
	def := &Definition{Variables: values, file: f}
	d := &decoder{vocab: vocabulary}
	d.ctx = &hcl.EvalContext{Functions: functions, Variables: map[string]cty.Value{"var": object(values)}}
	d.locals(f.locals)
	if d.diags.HasErrors() {
		return nil, f.fail(d.diags)
	}
	if err := f.validate(d, values); err != nil {
		return nil, err
	}
	d.definition(f.parsed.Body, def)
	d.resolve()
	if !d.diags.HasErrors() {
		d.order(def)
	}
	if d.diags.HasErrors() {
		return nil, f.fail(d.diags)
	}
	return def, nil
}

// definition decodes everything but variables and locals.
func (d *decoder) definition(body hcl.Body, def *Definition) {
	d.body(body, reflect.ValueOf(def).Elem(), header.Blocks...)
	if def.Cluster.Args == nil {
		def.Cluster.Args = clone(d.vocab.Cluster).Interface()
	}
	if def.Cost.Figures == nil {
		def.Cost.Figures, _ = d.vocab.Costs("") // the default class is built in
	}
}

func (f *File) fail(diags hcl.Diagnostics) error { return &Error{diags, f.parsed} }

// Quote returns a text as an expression of a file.
func Quote(text string) string { return string(hclwrite.TokensForValue(cty.StringVal(text)).Bytes()) }

// Format returns the text in the canonical layout of HCL: indented by two, the equals signs of
// neighbours in one column. Comments and order stay. The error is an *Error for a text that is
// not HCL.
func Format(name string, src []byte) ([]byte, error) {
	if _, err := parse(name, src); err != nil {
		return nil, err
	}
	return hclwrite.Format(src), nil
}
