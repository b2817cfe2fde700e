package apitypes

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"
)

// Types of differences (structs.DiffType).
const (
	diffNone    = "None"
	diffAdded   = "Added"
	diffDeleted = "Deleted"
	diffEdited  = "Edited"
)

// Diff returns how two versions of a job differ; before is nil if there is none. Objects that differ
// are shown with all of their fields, others not at all, as in Nomad (structs/diff.go, Job.Diff).
func Diff(before, after *api.Job) *api.JobDiff {
	of := &api.JobDiff{ID: *after.ID}
	of.Type, of.Fields, of.Objects = changes(before, after, jobSkips)
	var old []*api.TaskGroup
	if before != nil {
		old = before.TaskGroups
	}
	pairs(old, after.TaskGroups, func(g *api.TaskGroup) string { return *g.Name }, func(name string, was, is *api.TaskGroup) {
		group := diffGroup(name, was, is)
		of.TaskGroups = append(of.TaskGroups, group)
		of.Type = contain(of.Type, group.Type)
	})
	return of
}

func diffGroup(name string, before, after *api.TaskGroup) *api.TaskGroupDiff {
	of := &api.TaskGroupDiff{Name: name}
	of.Type, of.Fields, of.Objects = changes(before, after, []string{"Name", "Tasks"})
	tasks := func(g *api.TaskGroup) []*api.Task {
		if g == nil {
			return nil
		}
		return g.Tasks
	}
	pairs(tasks(before), tasks(after), func(t *api.Task) string { return t.Name }, func(name string, was, is *api.Task) {
		task := &api.TaskDiff{Name: name}
		task.Type, task.Fields, task.Objects = changes(was, is, []string{"Name"})
		of.Tasks = append(of.Tasks, task)
		of.Type = contain(of.Type, task.Type)
	})
	return of
}

// jobSkips are the fields of a job that are not its user's, and those that groups repeat.
var jobSkips = []string{
	"ID", "Status", "StatusDescription", "Version", "Stable", "CreateIndex", "ModifyIndex", "JobModifyIndex", "SubmitTime", "NomadTokenID",
	"VaultToken", "Update", "TaskGroups",
}

// contain returns the type of what contains something of type part.
func contain(whole, part string) string {
	if whole == diffNone && part != diffNone {
		return diffEdited
	}
	return whole
}

// pairs calls the function with once for every name in either list, in the order of the names. The element of a list
// that lacks the name is nil.
func pairs[T any](before, after []*T, name func(*T) string, with func(name string, before, after *T)) {
	both := map[string][2]*T{}
	for i, list := range [][]*T{before, after} {
		for _, e := range list {
			pair := both[name(e)]
			pair[i] = e
			both[name(e)] = pair
		}
	}
	for _, n := range slices.Sorted(maps.Keys(both)) {
		with(n, both[n][0], both[n][1])
	}
}

// changes returns how *before and *after differ: the type of the difference, and the fields and objects that differ.
// One of the pointers may be nil.
func changes[T any](before, after *T, skip []string) (kind string, fields []*api.FieldDiff, objects []*api.ObjectDiff) {
	d := &differ{}
	d.structs(reflect.ValueOf(before).Elem(), reflect.ValueOf(after).Elem(), reflect.TypeFor[T](), skip)
	d.fields = slices.DeleteFunc(d.fields, func(f *api.FieldDiff) bool { return f.Type == diffNone })
	return d.kind(before != nil, after != nil), d.fields, d.objects
}

// differ gathers how two values differ.
type differ struct {
	fields  []*api.FieldDiff
	objects []*api.ObjectDiff
}

// kind returns the type of the difference.
func (d *differ) kind(before, after bool) string {
	switch {
	case !before && after:
		return diffAdded
	case before && !after:
		return diffDeleted
	case len(d.objects) > 0 || slices.ContainsFunc(d.fields, func(f *api.FieldDiff) bool { return f.Type != diffNone }):
		return diffEdited
	}
	return diffNone
}

// structs compares structs of a type; one of them may be no value.
func (d *differ) structs(before, after reflect.Value, of reflect.Type, skip []string) {
	for i := range of.NumField() {
		f := of.Field(i)
		if !f.IsExported() || slices.Contains(skip, f.Name) {
			continue
		}
		at := func(v reflect.Value) reflect.Value {
			if !v.IsValid() {
				return v
			}
			return v.Field(i)
		}
		d.values(f.Name, at(before), at(after))
	}
	d.sort()
}

func (d *differ) sort() {
	slices.SortStableFunc(d.fields, func(a, b *api.FieldDiff) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortStableFunc(d.objects, func(a, b *api.ObjectDiff) int { return cmp.Compare(a.Name, b.Name) })
}

// values compares values of one name; one of them may be no value.
func (d *differ) values(name string, before, after reflect.Value) {
	before, after = inner(before), inner(after)
	some := before
	if !some.IsValid() {
		some = after
	}
	if !some.IsValid() {
		return
	}
	switch kind := some.Type(); some.Kind() {
	case reflect.Struct:
		d.object(name, before, after, func(in *differ) { in.structs(before, after, kind, nil) })
	case reflect.Map:
		if kind.Elem().Kind() == reflect.String {
			d.entries(before, after, func(key string) string { return name + "[" + key + "]" })
			return
		}
		d.object(name, before, after, func(in *differ) { in.entries(before, after, func(key string) string { return key }) })
	case reflect.Slice:
		d.lists(name, before, after)
	default:
		d.field(name, text(before), text(after))
	}
}

// inner returns what pointers and interfaces lead to; what is nil or empty is no value.
func inner(v reflect.Value) reflect.Value {
	for v.IsValid() && (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) {
		v = v.Elem()
	}
	if v.IsValid() && (v.Kind() == reflect.Map || v.Kind() == reflect.Slice) && v.Len() == 0 {
		return reflect.Value{}
	}
	return v
}

// text returns a plain value as Nomad shows it: durations are nanoseconds.
func text(v reflect.Value) string {
	switch {
	case !v.IsValid():
		return ""
	case v.CanInt():
		return fmt.Sprint(v.Int())
	}
	return fmt.Sprint(v.Interface())
}

func (d *differ) field(name, before, after string) {
	f := &api.FieldDiff{Name: name, Old: before, New: after, Type: diffEdited}
	switch {
	case before == after:
		f.Type = diffNone
	case before == "":
		f.Type = diffAdded
	case after == "":
		f.Type = diffDeleted
	}
	if before != "" || after != "" {
		d.fields = append(d.fields, f)
	}
}

// object compares two objects of one name and records how they differ, if they do. The function in compares their parts.
func (d *differ) object(name string, before, after reflect.Value, in func(*differ)) {
	inside := &differ{}
	in(inside)
	inside.sort()
	if kind := inside.kind(before.IsValid(), after.IsValid()); kind != diffNone {
		d.objects = append(d.objects, &api.ObjectDiff{Type: kind, Name: name, Fields: inside.fields, Objects: inside.objects})
	}
}

// entries compares maps, key by key.
func (d *differ) entries(before, after reflect.Value, called func(key string) string) {
	keys := map[string][2]reflect.Value{}
	for i, m := range []reflect.Value{before, after} {
		if !m.IsValid() {
			continue
		}
		for key, v := range m.Seq2() {
			pair := keys[key.String()]
			pair[i] = v
			keys[key.String()] = pair
		}
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		d.values(called(key), keys[key][0], keys[key][1])
	}
}

// lists compares lists. Plain values are compared in their order; objects are the same ones if they
// have the same name, or are alike.
func (d *differ) lists(name string, before, after reflect.Value) {
	was, is := elements(before), elements(after)
	if !isObject(was) && !isObject(is) {
		for i := range max(len(was), len(is)) {
			at := func(list []reflect.Value) reflect.Value {
				if i >= len(list) {
					return reflect.Value{}
				}
				return list[i]
			}
			d.values(fmt.Sprintf("%s[%d]", name, i), at(was), at(is))
		}
		return
	}
	one := singular(name)
	for _, old := range was {
		i := slices.IndexFunc(is, func(v reflect.Value) bool { return same(old, v) })
		if i < 0 {
			d.values(one, old, reflect.Value{})
			continue
		}
		d.values(one, old, is[i])
		is = slices.Delete(is, i, i+1)
	}
	for _, v := range is {
		d.values(one, reflect.Value{}, v)
	}
}

func elements(list reflect.Value) (all []reflect.Value) {
	if list.IsValid() {
		for i := range list.Len() {
			all = append(all, inner(list.Index(i)))
		}
	}
	return all
}

func isObject(list []reflect.Value) bool {
	return len(list) > 0 && list[0].IsValid() && list[0].Kind() == reflect.Struct
}

func same(a, b reflect.Value) bool {
	if name := a.FieldByName("Name"); name.IsValid() && name.Kind() == reflect.String && name.Len() > 0 {
		return name.String() == b.FieldByName("Name").String()
	}
	return reflect.DeepEqual(a.Interface(), b.Interface())
}

// singular returns what one element of a list is called.
func singular(list string) string {
	if stem, ok := strings.CutSuffix(list, "ies"); ok {
		return stem + "y"
	}
	return strings.TrimSuffix(list, "s")
}
