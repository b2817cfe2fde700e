package scheduler

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/simctl/simctl/cluster/rpc"
)

// nameIndex allots the numbers in the names of a group's allocations (reconcile_util.go,
// allocNameIndex).
type nameIndex struct {
	job, group string
	count      int
	used       []bool
	again      map[int]int // how many more than one have a number; nil in releases that do not mind
}

// newNameIndex returns the index of a group of count allocations. The names of sets are taken.
func newNameIndex(job, group string, count int, sets ...[]*rpc.Allocation) *nameIndex {
	x := &nameIndex{job: job, group: group, count: count, used: make([]bool, count), again: map[int]int{}}
	for _, set := range sets {
		for _, a := range set {
			n := nameNumber(a.Name)
			if n >= len(x.used) {
				x.used = append(x.used, make([]bool, n+1-len(x.used))...)
			}
			if x.used[n] {
				x.again[n]++
			}
			x.used[n] = true
		}
	}
	return x
}

// highest frees the n highest numbers in use, or as many as there are, and returns their
// names.
func (x *nameIndex) highest(n int) map[string]bool {
	names := make(map[string]bool, n)
	for i := len(x.used) - 1; i >= 0 && len(names) < n; i-- {
		if x.used[i] {
			x.used[i] = false
			names[allocName(x.job, x.group, i)] = true
		}
	}
	return names
}

// next takes n free names, the lowest first. When all are taken it starts over.
func (x *nameIndex) next(n int) []string {
	names := make([]string, 0, n)
	for i := 0; i < x.count && len(names) < n; i++ {
		if !x.used[i] {
			x.used[i] = true
			names = append(names, allocName(x.job, x.group, i))
		}
	}
	for i := 0; len(names) < n; i++ {
		names = append(names, allocName(x.job, x.group, i))
	}
	return names
}

// free takes a name from one of those that have it.
func (x *nameIndex) free(name string) {
	n := nameNumber(name)
	switch {
	case x.again[n] > 0:
		x.again[n]--
	case n < len(x.used):
		x.used[n] = false
	}
}

// once returns a name, or a free one in its place if several have it (generic_sched.go, computePlacements).
func (x *nameIndex) once(name string) string {
	if x == nil || x.again[nameNumber(name)] == 0 {
		return name
	}
	x.free(name)
	return x.next(1)[0]
}

// nameNumber returns the number in a name that allocName made; zero for other names.
func nameNumber(name string) int {
	open := strings.LastIndexByte(name, '[')
	if open < 0 || !strings.HasSuffix(name, "]") {
		return 0
	}
	n, err := strconv.ParseUint(name[open+1:len(name)-1], 10, 24)
	if err != nil {
		return 0
	}
	return int(n)
}

// sortByName sorts allocations by the number in their names, then by ID.
func sortByName(allocs []*rpc.Allocation) {
	type numbered struct {
		n     int
		alloc *rpc.Allocation
	}
	list := make([]numbered, len(allocs))
	for i, a := range allocs {
		list[i] = numbered{nameNumber(a.Name), a}
	}
	slices.SortFunc(list, func(a, b numbered) int {
		return cmp.Or(cmp.Compare(a.n, b.n), strings.Compare(a.alloc.ID, b.alloc.ID))
	})
	for i, x := range list {
		allocs[i] = x.alloc
	}
}

// minus returns the allocations of set that are not in taken.
func minus(set []*rpc.Allocation, taken map[string]bool) []*rpc.Allocation {
	if len(taken) == 0 {
		return set
	}
	return slices.DeleteFunc(slices.Clone(set), func(a *rpc.Allocation) bool { return taken[a.ID] })
}
