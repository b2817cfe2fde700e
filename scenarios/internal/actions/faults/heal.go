package faults

import "github.com/simctl/simctl/scenarios/internal/actions"

// Every schedule of soak ends with one, so none is drawn.
var _ = actions.RegisterAction("heal", Heal{}, actions.Soak{})

// Heal ends every fault that is under way and starts every killed server.
type Heal struct{}

func (Heal) Mark() string              { return "all faults end" }
func (Heal) Do(s *actions.Stage) error { return s.Heal() }
