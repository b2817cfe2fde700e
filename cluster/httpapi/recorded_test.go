package httpapi_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"
)

var (
	record = flag.String("record", "", "FILE=URL: record the exchanges of a real server in testdata/recorded/FILE")
	update = flag.Bool("update", false, "rewrite the known differences from real servers")
)

// exchange is a request and what of its answer does not depend on whose server it is.
type exchange struct {
	Request string          `json:"request"` // with the kinds of IDs in braces
	Body    json.RawMessage `json:"body,omitempty"`
	Status  int             `json:"status"`
	Headers []string        `json:"headers"` // the names of those that clients look at
	Answer  any             `json:"answer"`  // its shape
}

// recordedJob is what the requests are about. Its task runs anywhere.
const recordedJob = `{"Job": {"ID": "web", "Name": "web", "Type": "service", "Datacenters": ["dc1"], "Meta": {"owner": "team"},
	"TaskGroups": [{"Name": "front", "Count": 1, "Update": {"MinHealthyTime": 10000000, "HealthCheck": "task_states"}, "Tasks": [{
		"Name": "srv", "Driver": "raw_exec", "Config": {"command": "sleep", "args": ["3600"]}, "Resources": {"CPU": 50, "MemoryMB": 32}}]}]}}`

// requests are those that are recorded, in their order: METHOD PATH and a body.
var requests = []struct{ request, body string }{
	{"PUT /v1/jobs", recordedJob},
	{"PUT /v1/validate/job", recordedJob},
	{"PUT /v1/job/web/plan", strings.Replace(recordedJob, `{"Job"`, `{"Diff": true, "Job"`, 1)},
	{"GET /v1/jobs", ""}, {"GET /v1/jobs?prefix=no", ""}, {"GET /v1/jobs?filter=ID+==", ""}, {"GET /v1/jobs?index=x", ""}, {"PATCH /v1/jobs", ""},
	{"GET /v1/job/web", ""}, {"GET /v1/job/none", ""}, {"GET /v1/job/web/summary", ""}, {"GET /v1/job/web/versions", ""},
	{"GET /v1/job/web/allocations", ""}, {"GET /v1/job/web/evaluations", ""}, {"GET /v1/job/web/deployment", ""},
	{"GET /v1/job/web/deployments", ""}, {"GET /v1/job/web/scale", ""}, {"PUT /v1/job/web/evaluate", `{"JobID": "web"}`},
	{"GET /v1/nodes", ""}, {"GET /v1/node/{node}", ""}, {"GET /v1/node/{none}", ""}, {"GET /v1/node/{node}/allocations", ""},
	{"PUT /v1/node/{node}/eligibility", `{"Eligibility": "ineligible"}`}, {"PUT /v1/node/{node}/eligibility", `{"Eligibility": "eligible"}`},
	{"GET /v1/allocations", ""}, {"GET /v1/allocation/{alloc}", ""}, {"GET /v1/allocation/{none}", ""},
	{"GET /v1/evaluations", ""}, {"GET /v1/evaluations?per_page=1", ""}, {"GET /v1/evaluations/count", ""}, {"GET /v1/evaluation/{eval}", ""},
	{"GET /v1/evaluation/{none}", ""}, {"GET /v1/evaluation/{eval}/allocations", ""},
	{"DELETE /v1/evaluations", `{}`}, {"DELETE /v1/evaluations", `{"Filter": "ID == \"x\""}`},
	{"GET /v1/deployments", ""}, {"GET /v1/deployment/{deployment}", ""}, {"GET /v1/deployment/{none}", ""}, {"GET /v1/deployment/allocations/{deployment}", ""},
	{"GET /v1/agent/self", ""}, {"GET /v1/agent/members", ""}, {"GET /v1/agent/servers", ""}, {"GET /v1/agent/health", ""},
	{"GET /v1/agent/schedulers", ""}, {"GET /v1/agent/schedulers/config", ""},
	{"GET /v1/status/leader", ""}, {"GET /v1/status/peers", ""}, {"GET /v1/regions", ""}, {"GET /v1/namespaces", ""}, {"GET /v1/namespace/default", ""},
	{"GET /v1/operator/raft/configuration", ""}, {"GET /v1/operator/scheduler/configuration", ""}, {"GET /v1/operator/autopilot/health", ""},
	{"PUT /v1/operator/scheduler/configuration", `{"SchedulerAlgorithm": "binpack", "PreemptionConfig": {"SystemSchedulerEnabled": true}, "PauseEvalBroker": true}`},
	{"DELETE /v1/evaluations", `{"Filter": "ID == \"x\""}`},
	{"PUT /v1/operator/scheduler/configuration", `{"SchedulerAlgorithm": "binpack", "PreemptionConfig": {"SystemSchedulerEnabled": true}}`},
	{"PUT /v1/search", `{"Prefix": "we", "Context": "jobs"}`}, {"GET /v1/metrics", ""}, {"PUT /v1/system/gc", ""},
	{"DELETE /v1/job/web", ""}, {"DELETE /v1/job/none", ""},
}

// replay sends the requests to a server, and returns the exchanges.
func replay(t *testing.T, url string) []exchange {
	client, err := api.NewClient(&api.Config{Address: url})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ready := func() bool {
		nodes, _, err := client.Nodes().List(nil)
		return err == nil && len(nodes) > 0 && nodes[0].Status == "ready"
	}
	until(t, "a node is ready", ready)
	ids := map[string]string{"none": "11111111-2222-3333-4444-555555555555"}
	var all []exchange
	for _, r := range requests {
		method, path, _ := strings.Cut(r.request, " ")
		for kind, id := range ids {
			path = strings.ReplaceAll(path, "{"+kind+"}", id)
		}
		resp, text := ask(t, method, url+path, r.body)
		one := exchange{Request: r.request, Body: json.RawMessage(r.body), Status: resp.StatusCode}
		for name := range resp.Header {
			if strings.HasPrefix(name, "X-Nomad-") || name == "Content-Type" {
				one.Headers = append(one.Headers, name)
			}
		}
		slices.Sort(one.Headers)
		var answer any
		if json.Unmarshal(text, &answer) != nil {
			answer = map[string]any{"text": ""} // an error
		}
		one.Answer = shape("", answer)
		all = append(all, one)
		if r.request == "PUT /v1/jobs" {
			until(t, "the job runs and is deployed", func() bool {
				d, _, err := client.Jobs().LatestDeployment("web", nil)
				allocs, _, aerr := client.Jobs().Allocations("web", false, nil)
				if err != nil || aerr != nil || d == nil || d.Status != "successful" || len(allocs) == 0 || allocs[0].ClientStatus != "running" {
					return false
				}
				ids["deployment"], ids["alloc"], ids["node"], ids["eval"] = d.ID, allocs[0].ID, allocs[0].NodeID, allocs[0].EvalID
				return true
			})
		}
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	return all
}

// tables are objects whose keys are data.
var tables = []string{
	"Attributes", "Links", "Meta", "Drivers", "HostVolumes", "HostNetworks", "Tags", "Stats", "stats", "Labels", "Config", "config", "Env", "Tasks", "TaskStates", "TaskResources",
	"NodesEvaluated", "NodesAvailable", "NodesInPool", "ClassFiltered", "ConstraintFiltered", "ClassExhausted", "DimensionExhausted", "QueuedAllocations", "Details", "Matches", "Truncations", "Scores",
}

// shape returns the types of a value: of its fields, and of its elements as one. The type of what
// is null, or of an empty list, is not known: nil.
func shape(name string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		of := map[string]any{}
		for key, field := range v {
			if slices.Contains(tables, name) {
				return map[string]any{} // what is in it depends on machines and settings
			}
			of[key] = shape(key, field)
		}
		return of
	case []any:
		var of any
		for _, e := range v {
			of = merge(of, shape("", e))
		}
		return []any{of}
	case nil:
		return nil
	}
	return map[bool]string{true: "number", false: fmt.Sprintf("%T", v)}[fmt.Sprintf("%T", v) == "float64"]
}

// merge returns the shape of what is like either of two shapes.
func merge(a, b any) any {
	x, isObject := a.(map[string]any)
	y, both := b.(map[string]any)
	if !isObject || !both {
		return cmp.Or(a, b)
	}
	of := maps.Clone(x)
	for key, field := range y {
		of[key] = merge(of[key], field)
	}
	return of
}

// differences compares two shapes: "-path" is missing in ours, "~path" has another type. What only
// ours has is none: bodies have the types of the newest nomad/api, whatever the release.
func differences(path string, theirs, ours any) (found []string) {
	if theirs == nil || ours == nil {
		return nil
	}
	switch theirs := theirs.(type) {
	case map[string]any:
		ours, ok := ours.(map[string]any)
		if !ok {
			return []string{"~" + path}
		}
		if len(theirs) == 0 || len(ours) == 0 {
			return nil // a table
		}
		for _, key := range slices.Sorted(maps.Keys(theirs)) {
			if field, ok := ours[key]; ok {
				found = append(found, differences(path+"."+key, theirs[key], field)...)
			} else {
				found = append(found, "-"+path+"."+key)
			}
		}
		return found
	case []any:
		ours, ok := ours.([]any)
		if !ok {
			return []string{"~" + path}
		}
		return differences(path+"[]", theirs[0], ours[0])
	}
	if theirs != ours {
		return []string{"~" + path}
	}
	return nil
}

// TestRecorded compares answers with those of real servers, recorded in testdata/recorded.
func TestRecorded(t *testing.T) {
	if file, url, ok := strings.Cut(*record, "="); ok {
		text, err := json.MarshalIndent(replay(t, url), "", " ")
		if err == nil {
			err = os.WriteFile(filepath.Join("testdata", "recorded", file), append(text, '\n'), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	s := serve(t, 1, nil)
	ours := replay(t, s.url)
	for _, file := range []string{"nomad-1.4.3.json", "nomad-2.0.5.json"} {
		t.Run(file, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata", "recorded", file))
			if err != nil {
				t.Fatal(err)
			}
			var theirs []exchange
			if err := json.Unmarshal(text, &theirs); err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			for i, want := range theirs {
				text, err := json.Marshal(ours[i].Answer)
				if err != nil {
					t.Fatal(err)
				}
				var mine any
				if err := json.Unmarshal(text, &mine); err != nil {
					t.Fatal(err)
				}
				if ours[i].Request != want.Request {
					t.Fatalf("request %d is %s, recorded was %s: record again", i, ours[i].Request, want.Request)
				}
				if ours[i].Status != want.Status {
					fmt.Fprintf(&got, "%s: %d, not %d\n", want.Request, ours[i].Status, want.Status)
				}
				for _, h := range want.Headers {
					if !slices.Contains(ours[i].Headers, h) {
						fmt.Fprintf(&got, "%s: no header %s\n", want.Request, h)
					}
				}
				for _, d := range differences("", want.Answer, mine) {
					fmt.Fprintf(&got, "%s %s\n", want.Request, d)
				}
			}
			list := filepath.Join("testdata", "recorded", strings.TrimSuffix(file, ".json")+".differences")
			if *update {
				if err := os.WriteFile(list, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			known, err := os.ReadFile(list)
			if err != nil {
				t.Fatal(err)
			}
			if got.String() != string(known) {
				t.Errorf("differences from the real server:\n%s\nknown are:\n%s", got.String(), known)
			}
		})
	}
}
