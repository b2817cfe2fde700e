package scenarios

import (
	"errors"
	"maps"
	"slices"

	"github.com/simctl/simctl/nodesim"
	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/behaviours"
	"github.com/simctl/simctl/scenarios/internal/run"
	"github.com/simctl/simctl/scenarios/language"
)

// EventReader reads events for a cluster that runs already, one text after the other: event
// blocks of scenario files, with the job and behaviour blocks that they name.
type EventReader struct {
	servers int
	fleet   nodesim.Config
	setting actions.Setting
	before  actions.History
}

// fleetGroup is the name of the only group of the fleet of an EventReader.
const fleetGroup = "nodes"

// NewEventReader returns a reader for a cluster of so many servers, and of that many clients,
// which have been started and report what becomes of their allocations.
func NewEventReader(servers, nodes int) *EventReader {
	r := &EventReader{servers: servers, fleet: nodesim.Config{Nodes: nodes}}
	if nodes > 0 {
		r.fleet.Groups = []nodesim.Group{{Name: fleetGroup, Nodes: nodes}}
	}
	r.setting.Groups, r.setting.Reports = behaviours.Groups(r.fleet), true
	r.before.Started = nodes > 0
	return r
}

// Fleet returns the size and the groups of the clients.
func (r *EventReader) Fleet() nodesim.Config { return r.fleet }

// Read reads a text, which name stands for in errors. It remembers the behaviours of a text
// without errors, which later ones can end. The error is a *language.Error.
func (r *EventReader) Read(name string, src []byte) ([]run.Event, error) {
	words := vocabulary(nil, nil, nil)
	delete(words.Events, "start_clients") // they run
	declared := map[string][]string{"behaviour": slices.Sorted(maps.Keys(r.setting.Behaviours))}
	for _, g := range r.fleet.Groups {
		declared["group"] = append(declared["group"], g.Name)
	}
	def, err := language.DefineExcerpt(name, src, words, declared)
	if err != nil {
		return nil, err
	}
	def.Fleet.Groups = []language.Group{{}} // jobs are for its datacenter unless they say
	b := &builder{def: def, read: noFiles, readJob: noFiles, setting: r.setting, before: r.before}
	b.before.Behaving = maps.Clone(r.before.Behaving)
	if err := b.makeJobs(); err != nil {
		return nil, err
	}
	if err := b.makeBehaviours(r.setting.Groups); err != nil {
		return nil, err
	}
	for name, of := range r.setting.Behaviours {
		b.setting.Behaviours[name] = of
	}
	phase := run.Phase{}
	for _, e := range def.Phases[0].Events {
		action, err := b.action(e, r.servers)
		if errors.Is(err, actions.ErrNoClients) {
			err = errors.New("there are no clients in this process: serve them with --nodes")
		}
		if err != nil {
			return nil, def.Errorf(e.At, "Impossible event", "%v.", err)
		}
		phase.Events = append(phase.Events, run.Event{At: e.When, Action: action})
	}
	r.before, r.setting.Behaviours = b.before, b.setting.Behaviours
	return phase.Events, nil
}

// noFiles refuses to read files: whoever sends a text has others than whoever reads it.
func noFiles(string) ([]byte, error) {
	return nil, errors.New("a running cluster reads no files: write it out, or send it by another way")
}
