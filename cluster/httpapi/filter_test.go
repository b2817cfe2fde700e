package httpapi_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"
)

// TestFilters: lists are filtered by what the rows are, beyond what lists show of them, and before
// they are cut into pages.
func TestFilters(t *testing.T) {
	s := serve(t, 2, nil)
	for i := range 3 {
		job := serviceJob(fmt.Sprintf("job-%d", i), 1)
		job.Meta = map[string]string{"number": fmt.Sprint(i)}
		must[*api.JobRegisterResponse](t)(wrap(s.api.Jobs().Register(job, nil)))
	}
	until(t, "everything runs", func() bool {
		allocs := must[[]*api.AllocationListStub](t)(wrap(s.api.Allocations().List(&api.QueryOptions{Filter: `ClientStatus == "running"`})))
		return len(allocs) == 3
	})
	jobs := func(filter string) (ids []string) {
		t.Helper()
		for _, j := range must[[]*api.JobListStub](t)(wrap(s.api.Jobs().List(&api.QueryOptions{Filter: filter}))) {
			ids = append(ids, j.ID)
		}
		return ids
	}
	for filter, want := range map[string]string{
		`ID == "job-1"`: "job-1",
		`Meta.number != "1" and "dc1" in Datacenters`: "job-0,job-2",
		`Type == "batch" or Name matches "^job-[01]"`: "job-0,job-1",
		`TaskGroups is empty`:                         "",
	} {
		if got := strings.Join(jobs(filter), ","); got != want {
			t.Errorf("%s: jobs %q, want %q", filter, got, want)
		}
	}
	if nodes := must[[]*api.NodeListStub](t)(wrap(s.api.Nodes().List(&api.QueryOptions{Filter: `Attributes["kernel.name"] == "linux" and Status == "ready"`}))); len(nodes) != 2 {
		t.Errorf("%d nodes run Linux, want 2", len(nodes))
	}
	// Evaluations may still come on a busy machine: all of them are listed before the others and after.
	for settled := false; !settled; {
		all := must[[]*api.Evaluation](t)(wrap(s.api.Evaluations().List(nil)))
		var paged []*api.Evaluation
		q := &api.QueryOptions{PerPage: 2, Filter: `JobID != "job-2"`}
		for pages := 0; ; pages++ {
			page, meta, err := s.api.Evaluations().List(q)
			if err != nil || len(page) > 2 || pages > 100 {
				t.Fatalf("page %d of %d evaluations: %v", pages, len(page), err)
			}
			paged = append(paged, page...)
			if q.NextToken = meta.NextToken; q.NextToken == "" {
				break
			}
		}
		counted := must[*api.EvalCountResponse](t)(wrap(s.api.Evaluations().Count(&api.QueryOptions{Filter: `JobID != "job-2"`})))
		if settled = len(must[[]*api.Evaluation](t)(wrap(s.api.Evaluations().List(nil)))) == len(all); !settled {
			continue
		}
		want := slices.DeleteFunc(all, func(e *api.Evaluation) bool { return e.JobID == "job-2" })
		for _, list := range [][]*api.Evaluation{paged, want} { // the client sorts each list that it gets, and so each page
			slices.SortFunc(list, func(a, b *api.Evaluation) int { return strings.Compare(a.ID, b.ID) })
		}
		same := func(a, b *api.Evaluation) bool { return a.ID == b.ID }
		if !slices.EqualFunc(paged, want, same) || len(want) < 2 {
			t.Errorf("%d evaluations by pages, want the %d of all", len(paged), len(want))
		}
		if counted.Count != len(want) {
			t.Errorf("%d evaluations counted, want %d", counted.Count, len(want))
		}
	}
	for _, filter := range []string{"ID ==", `Nothing == "x"`, strings.Repeat("(", 10_000)} {
		if _, _, err := s.api.Jobs().List(&api.QueryOptions{Filter: filter}); err == nil || !strings.Contains(err.Error(), "400") {
			t.Errorf("%.20s: %v", filter, err)
		}
	}
}

// TestDeleteEvals: operators delete evaluations, one by one or by filter, while the broker is
// paused, unless what they placed still runs.
func TestDeleteEvals(t *testing.T) {
	s := serve(t, 1, nil)
	evals := s.api.Evaluations()
	runs := must[*api.JobRegisterResponse](t)(wrap(s.api.Jobs().Register(serviceJob("runs", 1), nil)))
	until(t, "it runs", func() bool {
		return len(must[[]*api.AllocationListStub](t)(wrap(s.api.Allocations().List(&api.QueryOptions{Filter: `ClientStatus == "running"`})))) == 1
	})
	if _, err := evals.Delete([]string{runs.EvalID}, nil); err == nil || !strings.Contains(err.Error(), "eval broker must be paused to delete evals") {
		t.Errorf("while the broker works: %v", err)
	}
	conf := must[*api.SchedulerConfigurationResponse](t)(wrap(s.api.Operator().SchedulerGetConfiguration(nil)))
	conf.SchedulerConfig.PauseEvalBroker = true
	must[*api.SchedulerSetConfigurationResponse](t)(wrap(s.api.Operator().SchedulerSetConfiguration(conf.SchedulerConfig, nil)))

	var placer string
	for _, a := range must[[]*api.AllocationListStub](t)(wrap(s.api.Allocations().List(nil))) {
		placer = a.EvalID
	}
	var waiting []string
	for i := range 3 {
		waiting = append(waiting, must[*api.JobRegisterResponse](t)(wrap(s.api.Jobs().Register(serviceJob(fmt.Sprintf("waits-%d", i), 1), nil))).EvalID)
	}
	if _, err := evals.Delete([]string{waiting[0], placer}, nil); err == nil || !strings.Contains(err.Error(), "is not safe to delete") {
		t.Errorf("an evaluation whose allocation runs: %v", err)
	}
	if _, err := evals.Delete([]string{"none"}, nil); err == nil || !strings.Contains(err.Error(), "eval not found") {
		t.Errorf("an evaluation that there is not: %v", err)
	}
	if meta, err := evals.Delete(waiting[:1], nil); err != nil || meta.LastIndex == 0 {
		t.Errorf("by ID: %+v, %v", meta, err)
	}
	deleted, _, err := evals.DeleteOpts(&api.EvalDeleteRequest{Filter: `Status == "pending" or JobID == "runs"`}, nil)
	if err != nil || deleted.Count < 2 {
		t.Errorf("by filter: %+v, %v", deleted, err)
	}
	left := must[[]*api.Evaluation](t)(wrap(evals.List(nil)))
	for _, e := range left {
		if slices.Contains(waiting, e.ID) {
			t.Errorf("%s of %s is still there", e.ID, e.JobID)
		}
	}
	if !slices.ContainsFunc(left, func(e *api.Evaluation) bool { return e.ID == placer }) {
		t.Error("the filter deleted an evaluation whose allocation runs")
	}
	for _, r := range []*api.EvalDeleteRequest{{}, {Filter: `ID == "x"`, EvalIDs: waiting}, {EvalIDs: make([]string, 8000)}} {
		if _, _, err := evals.DeleteOpts(r, nil); err == nil || !strings.Contains(err.Error(), "400") {
			t.Errorf("%d IDs and filter %q: %v", len(r.EvalIDs), r.Filter, err)
		}
	}
	conf.SchedulerConfig.PauseEvalBroker = false
	must[*api.SchedulerSetConfigurationResponse](t)(wrap(s.api.Operator().SchedulerSetConfiguration(conf.SchedulerConfig, nil)))
	reg := must[*api.JobRegisterResponse](t)(wrap(s.api.Jobs().Register(serviceJob("after", 1), nil)))
	until(t, "the broker goes on", func() bool {
		return must[*api.Evaluation](t)(wrap(evals.Info(reg.EvalID, nil))).Status == "complete"
	})
}
