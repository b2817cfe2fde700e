package record

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/simctl/simctl/cluster/apitypes"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/scenarios/internal/english"
	"github.com/simctl/simctl/scenarios/language"
)

// file is a scenario file that is being written.
type file struct {
	*seen
	scales bool // something depends on the variable load
	bytes.Buffer
	names  *namer
	name   string // what the files beside the scenario begin with
	beside map[string][]byte
	place  map[string]int // of the nodes among the clients, by ID
	dcs    []string
	start  []string // blocks of jobs that are registered at the beginning
	events []event
}

// event is an event of the replay.
type event struct {
	at   time.Duration
	text string
}

func (f *file) line(format string, args ...any) { fmt.Fprintf(&f.Buffer, format+"\n", args...) }

// write returns the scenario, and what it names.
func (s *seen) write(name string, names *namer) (*Recording, error) {
	f := &file{seen: s, names: names, name: name, beside: map[string][]byte{}, place: map[string]int{}}
	fleet := f.fleet()
	jobs := f.blocks()
	f.line("# What the recording leaves out:")
	for _, what := range slices.Sorted(maps.Keys(s.omitted)) {
		f.line("# - %s (%d ×)", language.Printable(what), s.omitted[what])
	}
	f.line("# - settings of heartbeats, of the broker and of garbage collection: those here are Nomad's defaults")
	f.line("# - how long allocations take to start, and when they end by themselves")
	f.line("\ntitle = %s\n", language.Quote(fmt.Sprintf("a recorded cluster: %s, %s", english.Plural(len(f.place), "node"), english.Plural(len(s.jobs), "job"))))
	f.variables()
	f.line("cluster {\n  servers = var.servers\n}\n")
	f.WriteString(fleet)
	f.WriteString(jobs)
	trace := f.trace()
	f.phases(trace)
	text, err := language.Format(name, f.Bytes())
	if err != nil {
		return nil, fmt.Errorf("write the scenario: %w", err)
	}
	return &Recording{Scenario: text, Files: f.beside}, nil
}

func (f *file) variables() {
	type variable struct{ name, about, kind, value, bounds string }
	all := []variable{
		{"servers", "number of servers", "integer", fmt.Sprint(min(max(f.servers, 1), 15)), "min = 1\n  max = 15"},
		{"schedulers", "scheduler workers of each server (num_schedulers)", "integer", fmt.Sprint(f.schedulers), "min = 1\n  max = 1024"},
	}
	if f.scales {
		all = append(all, variable{"load", "factor on the counts of service and batch jobs", "number", "1", "min = 0\n  max = 1000"})
	}
	for _, v := range all {
		f.line("variable %q {\n  description = %q\n  type = %q\n  default = %s\n  %s\n}\n", v.name, v.about, v.kind, v.value, v.bounds)
	}
}

// fleet returns the clients, and gives them their places.
func (f *file) fleet() string {
	groups := map[kind][]string{}
	for _, id := range slices.Sorted(maps.Keys(f.nodes)) {
		n := f.nodes[id]
		if !n.wasUp() {
			f.omit("a node was down all the time")
			continue
		}
		groups[n.kind] = append(groups[n.kind], id)
	}
	kinds := slices.SortedFunc(maps.Keys(groups), func(a, b kind) int {
		return cmp.Or(cmp.Compare(a.Datacenter, b.Datacenter), cmp.Compare(a.Class, b.Class), cmp.Compare(a.OS, b.OS),
			cmp.Compare(a.Resources.CPUMHz, b.Resources.CPUMHz), cmp.Compare(a.Resources.MemoryMB, b.Resources.MemoryMB), cmp.Compare(a.Resources.DiskMB, b.Resources.DiskMB))
	})
	var b strings.Builder
	b.WriteString("fleet {\n")
	for i, k := range kinds {
		for _, id := range groups[k] {
			f.place[id] = len(f.place)
		}
		if !slices.Contains(f.dcs, k.Datacenter) {
			f.dcs = append(f.dcs, k.Datacenter)
		}
		fmt.Fprintf(&b, "group \"nodes-%d\" {\nnodes = %d\ndatacenter = %s\n", i+1, len(groups[k]), language.Quote(f.names.shown("dc", k.Datacenter)))
		if k.Class != "" {
			fmt.Fprintf(&b, "class = %s\n", language.Quote(f.names.shown("class", k.Class)))
		}
		if k.OS != "" {
			fmt.Fprintf(&b, "attributes = {\n\"os.name\" = %s\n}\n", language.Quote(language.Printable(k.OS)))
		}
		fmt.Fprintf(&b, "\n%s}\n\n", resources(k.Resources))
	}
	return strings.TrimSpace(b.String()) + "\n}\n\n"
}

func resources(r rpc.Resources) string {
	return fmt.Sprintf("resources {\ncpu = %d\nmemory = %d\ndisk = %d\n}\n", max(r.CPUMHz, 0), max(r.MemoryMB, 0), max(r.DiskMB, 0))
}

// blocks returns the jobs. Those that are alike are copies of one, unless something happens to them.
func (f *file) blocks() string {
	var b strings.Builder
	done := map[jobKey]bool{}
	all := f.sortedJobs()
	for i, key := range all {
		if done[key] {
			continue
		}
		j, copies := f.jobs[key], 1
		if len(j.changes) == 0 {
			for _, other := range all[i+1:] {
				if o := f.jobs[other]; len(o.changes) == 0 && !done[other] && alike(j.first, o.first) {
					done[other] = true
					copies++
				}
			}
		}
		name := f.names.block("job", key.id)
		if !j.late {
			f.start = append(f.start, name)
		}
		b.WriteString(f.job(name, j.first, copies))
		f.happened(name, j)
	}
	return b.String()
}

// job returns the block of a job.
func (f *file) job(name string, j *rpc.Job, copies int) string {
	var b strings.Builder
	set := func(attribute string, value any) { fmt.Fprintf(&b, "%s = %v\n", attribute, value) }
	if copies > 1 {
		set("copies", copies)
	}
	if len(j.TaskGroups) > 1 {
		set("spec", language.Quote(f.definition(name, j)))
		if !slices.ContainsFunc(j.TaskGroups, func(g rpc.TaskGroup) bool { return g.MaxParallel > 0 }) {
			set("max_parallel", 0)
		}
	} else {
		set("type", language.Quote(j.Type))
		if counts(j) {
			set("count", f.scaled(j.TaskGroups[0].Count))
		}
		set("priority", j.Priority)
		if d := j.TaskGroups[0].MaxClientDisconnect; d > 0 {
			set("max_client_disconnect", language.Quote(d.String()))
		}
		if n := j.TaskGroups[0].MaxParallel; n > 0 {
			set("max_parallel", n)
		}
	}
	if in := f.datacenters(j); in != "" {
		set("datacenters", in)
	}
	if p := j.Periodic; p != nil {
		set("every", language.Quote(p.Every.String()))
		set("prohibit_overlap", p.ProhibitOverlap)
	}
	if len(j.TaskGroups) == 1 {
		b.WriteString("\n" + resources(j.TaskGroups[0].Resources))
	}
	return fmt.Sprintf("job %s {\n%s}\n\n", language.Quote(name), b.String())
}

// counts reports whether a job says how many allocations it wants.
func counts(j *rpc.Job) bool { return j.Type == rpc.JobTypeService || j.Type == rpc.JobTypeBatch }

func (f *file) scaled(count int) string {
	f.scales = true
	return fmt.Sprintf("ceil(%d * var.load)", count)
}

// datacenters returns the list of a job's datacenters; empty if these are all of the fleet.
func (f *file) datacenters(j *rpc.Job) string {
	in := slices.DeleteFunc(slices.Clone(f.dcs), func(dc string) bool { return !j.RunsIn(dc) })
	if len(in) == len(f.dcs) && len(in) > 0 {
		return ""
	}
	if len(in) == 0 {
		in = j.Datacenters // where no node is
	}
	var quoted []string
	for _, dc := range in {
		quoted = append(quoted, language.Quote(f.names.shown("dc", dc)))
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// definition writes the definition of a job of several groups, as far as it is modelled, to a
// file, and returns the file's name.
func (f *file) definition(name string, j *rpc.Job) string {
	one := bare(j)
	one.ID, one.Namespace, one.Datacenters, one.Periodic = name, rpc.DefaultNamespace, nil, nil
	one.TaskGroups = slices.Clone(one.TaskGroups)
	for i := range one.TaskGroups {
		one.TaskGroups[i].Name = f.names.shown("group", one.TaskGroups[i].Name)
	}
	text, err := json.MarshalIndent(apitypes.Job(&one, ""), "", "  ")
	if err != nil {
		f.omit("a job of several groups: " + err.Error())
	}
	path := fmt.Sprintf("%s.%s.json", f.name, name)
	f.beside[path] = append(text, '\n')
	return path
}

// happened adds the events of what happened to a job.
func (f *file) happened(name string, j *job) {
	for _, c := range j.changes {
		block, about := "update_job", fmt.Sprintf("job = %s\n", language.Quote(name))
		switch {
		case c.to == nil:
			block = "stop_job"
			if c.purge {
				about += "purge = true\n"
			}
		case c.from == nil:
			block, about = "register_jobs", fmt.Sprintf("jobs = [%s]\n", language.Quote(name))
		default:
			about += f.difference(c)
		}
		f.events = append(f.events, event{c.at, fmt.Sprintf("event %q {\nat = %q\n%s}\n", block, instant(c.at), about)})
	}
}

// difference returns what of a new version of a job an event can say.
func (f *file) difference(c jobChange) string {
	text := ""
	if len(c.to.TaskGroups) != len(c.from.TaskGroups) || c.to.Type != c.from.Type || c.to.Priority != c.from.Priority {
		f.omit("a new version of a job has other groups, another type or another priority, and here other resources")
		return text
	}
	now, was := c.to.TaskGroups[0], c.from.TaskGroups[0]
	if now.Count != was.Count && counts(c.to) {
		text += fmt.Sprintf("count = %s\n", f.scaled(now.Count))
	}
	if now.Resources != was.Resources || now.Count != was.Count {
		text += resources(now.Resources)
	}
	return text // if it is empty, the event changes the resources by little, so that there is a new version
}

// instant returns a time from the replay's beginning.
func instant(d time.Duration) string { return d.Round(time.Millisecond).String() }

// trace writes the file of the nodes that went up or down, and returns its name; empty if none did.
func (f *file) trace() string {
	var b bytes.Buffer
	b.WriteString("# seconds, client, up or down: when the servers noticed\n")
	size := b.Len()
	for _, id := range slices.Sorted(maps.Keys(f.place)) {
		if !f.nodes[id].began {
			fmt.Fprintf(&b, "0 %d down\n", f.place[id])
		}
	}
	for _, c := range f.changes {
		fmt.Fprintf(&b, "%.3f %d %s\n", c.at.Seconds(), f.place[c.node], map[bool]string{true: "up", false: "down"}[c.up])
	}
	if b.Len() == size {
		return ""
	}
	path := f.name + ".trace"
	f.beside[path] = b.Bytes()
	return path
}

func (f *file) phases(trace string) {
	if trace != "" {
		f.line("behaviour \"replay\" \"recorded\" {\n  file = %s\n}\n", language.Quote(trace))
	}
	f.line("phase \"start\" {")
	if len(f.start) > 0 {
		var quoted []string
		for _, name := range f.start {
			quoted = append(quoted, language.Quote(name))
		}
		f.line("event \"register_jobs\" {\njobs = [%s]\n}\n", strings.Join(quoted, ", "))
	}
	f.line("event \"start_clients\" {}\n\nuntil \"registered\" {}\n}\n")
	// The cluster was recorded with what it had deployed before.
	f.line("phase \"drain\" {\nevent \"schedulers\" {\nper_server = var.schedulers\n}\n\nuntil \"deployed\" {}\n}\n")
	if f.lasted > 0 {
		f.line("phase \"replay\" {")
		if trace != "" {
			f.line("event \"begin\" {\nbehaviour = \"recorded\"\n}\n")
		}
		slices.SortStableFunc(f.events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
		for _, e := range f.events {
			f.line("%s", e.text)
		}
		f.line("until \"elapsed\" {\nfor = %q\n}\n}\n", instant(max(f.lasted, time.Millisecond)))
	}
	f.line("phase \"recovered\" {\nuntil \"settled\" {}\n}")
}
