package language

import (
	"reflect"
	"slices"

	"github.com/hashicorp/hcl/v2"
)

// excerpt is what of a Definition an excerpt has.
type excerpt struct {
	Jobs       []Job       `lang:"name=job"`
	Behaviours []Behaviour `lang:"name=behaviour"`
	Events     []Event     `lang:"name=event,required"`
}

// DefineExcerpt evaluates a text of event blocks, with the job and behaviour blocks that they
// need. The result has jobs, behaviours and one phase with the events, and nothing else. Declared has, by kind, names
// that are taken already: the text may refer to them and must not declare them again. The error is an *Error.
func DefineExcerpt(name string, src []byte, vocabulary Vocabulary, declared map[string][]string) (*Definition, error) {
	parsed, err := parse(name, src)
	if err != nil {
		return nil, err
	}
	d := &decoder{vocab: vocabulary, ctx: &hcl.EvalContext{Functions: functions}, declared: map[string][]string{}}
	for kind, names := range declared {
		d.declared[kind] = slices.Clone(names)
	}
	var of excerpt
	d.body(parsed.Body, reflect.ValueOf(&of).Elem())
	d.resolve()
	phase := Phase{Events: d.events(of.Events)}
	f := &File{parsed: parsed}
	if d.diags.HasErrors() {
		return nil, f.fail(d.diags)
	}
	return &Definition{Jobs: of.Jobs, Behaviours: of.Behaviours, Phases: []Phase{phase}, file: f}, nil
}
