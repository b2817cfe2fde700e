package scenarios

import (
	"encoding/json"
	"fmt"

	"github.com/simctl/simctl/metrics"
)

// SpecOf returns the Spec of a simulation with the parameters of a run on real servers, under
// their release. Base has the scenario if that is no built-in one, and what the simulation charges.
// The error is an *InputError.
func SpecOf(r *metrics.Result, base Spec) (Spec, error) {
	refuse := func(why string) (Spec, error) {
		return base, &InputError{Value: "the run of " + r.Run.Label(), Allowed: why}
	}
	if err := CheckRelease(r.Run.Target); err != nil {
		return refuse(fmt.Sprintf("it is no run on real servers that can be simulated: its target is %q", r.Run.Target))
	}
	if base.Source == "" {
		if base.Scenario = r.Run.Scenario; Describe(base.Scenario) == "" {
			return refuse(fmt.Sprintf("scenario %s is not built in: name its file by --scenario", base.Scenario))
		}
	}
	base.Broker, base.Seed, base.Clock, base.Vars = r.Run.Target, r.Run.Seed, ClockVirtual, nil
	vars, err := base.Variables()
	if err != nil {
		return base, err
	}
	for _, v := range vars {
		value, ok := r.Run.Params[v.Name]
		if n, number := value.(json.Number); number {
			value = n.String()
		}
		if ok && value != nil {
			base.Set(v.Name, value)
		}
	}
	return base, nil
}
