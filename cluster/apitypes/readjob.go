package apitypes

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/nomad/api"
)

// ReadJob reads a definition in Nomad's JSON: a job as its users' tools print it, or an object
// that has one as Job, which is what the API takes. It leaves out what no scheduler looks at.
func ReadJob(text []byte) (*api.Job, error) {
	var outer struct{ Job json.RawMessage }
	if err := json.Unmarshal(text, &outer); err != nil {
		return nil, fmt.Errorf("it is no JSON object: %w", err)
	}
	if bytes.HasPrefix(outer.Job, []byte("{")) {
		text = outer.Job
	}
	var plain any
	def := new(api.Job)
	if err := errors.Join(json.Unmarshal(text, &plain), json.Unmarshal(text, def)); err != nil {
		return nil, fmt.Errorf("it is no job: %w", err)
	}
	if path := NullElement(plain); path != "" {
		return nil, fmt.Errorf("%s is null: leave it out", path[1:])
	}
	for _, g := range def.TaskGroups {
		g.Services, g.Consul = nil, nil
		for _, t := range g.Tasks {
			t.Services, t.Artifacts, t.Templates, t.Secrets, t.VolumeMounts = nil, nil, nil, nil, nil
			t.Vault, t.Consul, t.CSIPluginConfig = nil, nil, nil
		}
	}
	return def, nil
}

// NullElement returns the path of an element of a list that is null; empty if there is none.
// Nothing in a job may be such an element, and the API's own types fail on one.
func NullElement(v any) string {
	switch v := v.(type) {
	case []any:
		for i, element := range v {
			if element == nil {
				return fmt.Sprintf("[%d]", i)
			}
			if path := NullElement(element); path != "" {
				return fmt.Sprintf("[%d]%s", i, path)
			}
		}
	case map[string]any:
		var paths []string
		for key, value := range v {
			if path := NullElement(value); path != "" {
				paths = append(paths, "."+key+path)
			}
		}
		if len(paths) > 0 {
			return slices.Min(paths)
		}
	}
	return ""
}
