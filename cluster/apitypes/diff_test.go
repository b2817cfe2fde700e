package apitypes_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/simctl/simctl/cluster/apitypes"
)

// diffJob returns a job with one group and one task, changed by change.
func diffJob(change func(*api.Job, *api.TaskGroup, *api.Task)) *api.Job {
	task := api.NewTask("srv", "exec").SetConfig("command", "sleep").SetConfig("args", []any{"1"}).Require(&api.Resources{CPU: new(100), MemoryMB: new(64)})
	group := api.NewTaskGroup("front", 1).AddTask(task)
	job := api.NewServiceJob("web", "web", "global", 50).AddTaskGroup(group)
	job.Datacenters = []string{"dc1"}
	if change != nil {
		change(job, group, task)
	}
	job.Canonicalize()
	return job
}

// tell writes a diff: a line for each field that differs, with where it is.
func tell(d *api.JobDiff) string {
	lines := []string{"job " + d.Type}
	var within func(at string, fields []*api.FieldDiff, objects []*api.ObjectDiff)
	within = func(at string, fields []*api.FieldDiff, objects []*api.ObjectDiff) {
		for _, f := range fields {
			if f.Type != "None" {
				lines = append(lines, fmt.Sprintf("%s%s: %s %q to %q", at, f.Name, f.Type, f.Old, f.New))
			}
		}
		for _, o := range objects {
			lines = append(lines, at+o.Name+" "+o.Type)
			within(at+o.Name+".", o.Fields, o.Objects)
		}
	}
	within("", d.Fields, d.Objects)
	for _, g := range d.TaskGroups {
		lines = append(lines, g.Name+" "+g.Type)
		within(g.Name+".", g.Fields, g.Objects)
		for _, t := range g.Tasks {
			lines = append(lines, g.Name+"."+t.Name+" "+t.Type)
			within(g.Name+"."+t.Name+".", t.Fields, t.Objects)
		}
	}
	return strings.Join(lines, "\n")
}

func TestDiff(t *testing.T) {
	for _, c := range []struct {
		what   string
		change func(*api.Job, *api.TaskGroup, *api.Task)
		want   string
	}{
		{"nothing", nil, "job None\nfront None\nfront.srv None"},
		{"a count", func(_ *api.Job, g *api.TaskGroup, _ *api.Task) { g.Count = new(3) }, "job Edited\nfront Edited\nfront.Count: Edited \"1\" to \"3\"\nfront.srv None"},
		{
			"a priority and metadata", func(j *api.Job, _ *api.TaskGroup, _ *api.Task) {
				j.Priority, j.Meta = new(70), map[string]string{"owner": "team"}
			},
			"job Edited\nMeta[owner]: Added \"\" to \"team\"\nPriority: Edited \"50\" to \"70\"\nfront None\nfront.srv None",
		},
		{
			"a task", func(_ *api.Job, _ *api.TaskGroup, t *api.Task) {
				t.SetConfig("args", []any{"2", "3"})
				t.Resources.CPU, t.KillTimeout = new(200), new(time.Second)
			},
			"job Edited\nfront Edited\nfront.srv Edited\nfront.srv.KillTimeout: Edited \"5000000000\" to \"1000000000\"\n" +
				"front.srv.Config Edited\nfront.srv.Config.args[0]: Edited \"1\" to \"2\"\nfront.srv.Config.args[1]: Added \"\" to \"3\"\n" +
				"front.srv.Resources Edited\nfront.srv.Resources.CPU: Edited \"100\" to \"200\"",
		},
		{
			"a constraint", func(j *api.Job, _ *api.TaskGroup, _ *api.Task) { j.Constrain(api.NewConstraint("a", "=", "b")) },
			"job Edited\nConstraint Added\nConstraint.LTarget: Added \"\" to \"a\"\nConstraint.Operand: Added \"\" to \"=\"\nConstraint.RTarget: Added \"\" to \"b\"\nfront None\nfront.srv None",
		},
	} {
		before, after := diffJob(nil), diffJob(c.change)
		if got := tell(apitypes.Diff(before, after)); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.what, got, c.want)
		}
	}
	other := diffJob(func(_ *api.Job, g *api.TaskGroup, _ *api.Task) { g.Name = new("back") })
	groups := map[string]string{}
	for _, g := range apitypes.Diff(diffJob(nil), other).TaskGroups {
		groups[g.Name] = g.Type
	}
	if got := fmt.Sprint(groups); got != "map[back:Added front:Deleted]" {
		t.Errorf("another group: %s", got)
	}
	if d := apitypes.Diff(nil, diffJob(nil)); d.Type != "Added" || d.TaskGroups[0].Type != "Added" || d.TaskGroups[0].Tasks[0].Type != "Added" {
		t.Errorf("a new job: %s", tell(d))
	}
}

// TestDiffContext: an object that differs is shown whole.
func TestDiffContext(t *testing.T) {
	d := apitypes.Diff(diffJob(nil), diffJob(func(_ *api.Job, _ *api.TaskGroup, t *api.Task) { t.Resources.CPU = new(200) }))
	fields := d.TaskGroups[0].Tasks[0].Objects[0].Fields
	if i := slices.IndexFunc(fields, func(f *api.FieldDiff) bool { return f.Name == "MemoryMB" }); i < 0 || fields[i].Type != "None" {
		text, _ := json.Marshal(fields)
		t.Errorf("the memory, which is as it was, is not shown: %s", text)
	}
}
