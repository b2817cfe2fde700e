package httpapi

import (
	"iter"
	"net/http"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"
	"github.com/hashicorp/nomad/api/contexts"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

func (a *API) operatorRoutes() {
	a.handle("/v1/operator/raft/configuration", methods{"GET": a.tell(a.raftConfiguration)})
	a.handle("/v1/operator/scheduler/configuration", methods{"GET": a.read(schedulerConfiguration), "PUT": a.write(a.setSchedulerConfiguration)})
	a.handle("/v1/operator/autopilot/health", methods{"GET": a.tell(a.autopilotHealth)})
	a.handle("/v1/system/gc", methods{"PUT": a.write(a.collect)})
	a.handle("/v1/search", methods{"PUT": http.HandlerFunc(a.search)})
}

func (a *API) raftConfiguration() any {
	of := &api.RaftConfiguration{Index: 1}
	for _, m := range a.Cluster.Members() {
		of.Servers = append(of.Servers, &api.RaftServer{
			ID: m.Addr, Node: a.memberOf(m).Name, Address: a.RPC(m.ID).String(), Leader: m.Leads, Voter: true, RaftProtocol: "3",
		})
	}
	return of
}

func (a *API) autopilotHealth() any {
	index := a.Cluster.Stats().LastIndex
	of := &api.OperatorHealthReply{Healthy: true}
	healthy := 0
	for _, m := range a.Cluster.Members() {
		if m.Leads {
			of.Leader = m.Addr
		}
		if m.Running {
			healthy++
		}
		of.Healthy = of.Healthy && m.Running
		of.Voters = append(of.Voters, m.Addr)
		of.Servers = append(of.Servers, api.ServerHealth{
			ID: m.Addr, Name: a.memberOf(m).Name, Address: a.RPC(m.ID).String(), SerfStatus: a.memberOf(m).Status, Version: a.Version,
			Leader: m.Leads, LastIndex: index, Healthy: m.Running, Voter: true, StableSince: a.started.UTC(),
		})
	}
	of.FailureTolerance = max(0, healthy-len(of.Servers)/2-1)
	return of
}

// configuration returns the scheduler configuration: Nomad's defaults, but for what the
// cluster can be told.
func configuration(c rpc.SchedulerConfig) api.SchedulerConfiguration {
	return api.SchedulerConfiguration{
		SchedulerAlgorithm: api.SchedulerAlgorithmBinpack,
		PreemptionConfig:   api.PreemptionConfig{SystemSchedulerEnabled: true},
		PauseEvalBroker:    c.PauseEvalBroker,
	}
}

func schedulerConfiguration(s *state.Snapshot, _ *http.Request, _ *query) (answer, error) {
	return all(s.Index(), func() any {
		return indexed{&api.SchedulerConfigurationResponse{SchedulerConfig: new(configuration(s.SchedulerConfig()))}, s.Index()}
	}), nil
}

// setSchedulerConfiguration pauses the broker or lets it go on, and refuses what else differs
// from Nomad's defaults.
func (a *API) setSchedulerConfiguration(w http.ResponseWriter, r *http.Request, _ *query) (any, uint64, error) {
	var want api.SchedulerConfiguration
	if err := a.decode(w, r, &want); err != nil {
		return nil, 0, err
	}
	given := want
	given.CreateIndex, given.ModifyIndex, given.NodeLimitForFeasibilityChecks = 0, 0, 0
	if given.SchedulerAlgorithm == "" {
		given.SchedulerAlgorithm = api.SchedulerAlgorithmBinpack
	}
	if only := configuration(rpc.SchedulerConfig{PauseEvalBroker: want.PauseEvalBroker}); given != only {
		return nil, 0, errorf(http.StatusBadRequest, "the simulated cluster can only be told PauseEvalBroker: leave the rest of the scheduler configuration at binpack, preemption for system jobs alone, no memory oversubscription and no rejection of jobs")
	}
	if err := a.Cluster.SetSchedulerConfig(r.Context(), rpc.SchedulerConfig{PauseEvalBroker: want.PauseEvalBroker}); err != nil {
		return nil, 0, err
	}
	s, err := a.fresh(r.Context())
	if err != nil {
		return nil, 0, err
	}
	return &api.SchedulerSetConfigurationResponse{Updated: true, WriteMeta: api.WriteMeta{LastIndex: s.Index()}}, s.Index(), nil
}

func (a *API) collect(_ http.ResponseWriter, r *http.Request, _ *query) (any, uint64, error) {
	return nil, 0, a.Cluster.ForceGC(r.Context())
}

// searchLimit is how many matches of a kind a search returns (nomad/search_endpoint.go).
const searchLimit = 20

func (a *API) search(w http.ResponseWriter, r *http.Request) {
	var req api.SearchRequest
	q, err := parse(r)
	if err == nil {
		err = a.decode(w, r, &req)
	}
	if err != nil {
		fail(w, err)
		return
	}
	view, err := a.view(r.Context(), q.stale)
	if err != nil {
		fail(w, err)
		return
	}
	s := view.Store.Snapshot()
	of := &api.SearchResponse{Matches: map[contexts.Context][]string{}, Truncations: map[contexts.Context]bool{}}
	searched := false
	for kind, ids := range searchable(s, q) {
		if req.Context != kind && req.Context != contexts.All && req.Context != "" {
			continue
		}
		searched = true
		of.Matches[kind], of.Truncations[kind] = match(ids, req.Prefix)
	}
	if !searched {
		fail(w, errorf(http.StatusInternalServerError, "context must be one of all, jobs, evals, allocs, nodes, deployment, namespaces; got %q", req.Context))
		return
	}
	began := time.Now()
	setMeta(w, s.Index(), view)
	of.LastIndex, of.KnownLeader, of.RequestTime = s.Index(), view.KnownLeader, time.Since(began)
	AnswerJSON(w, r, indexed{of, s.Index()})
}

// searchable returns the IDs of all that can be searched for, by kind.
func searchable(s *state.Snapshot, q *query) map[contexts.Context]iter.Seq[string] {
	return map[contexts.Context]iter.Seq[string]{
		contexts.Jobs:        ids(s.Jobs(), func(j *rpc.Job) (string, bool) { return j.ID, q.in(j.Namespace) }),
		contexts.Evals:       ids(s.Evals(), func(e *broker.Evaluation) (string, bool) { return e.ID, q.in(e.Namespace) }),
		contexts.Allocs:      ids(s.Allocs(), func(x *rpc.Allocation) (string, bool) { return x.ID, q.in(x.Namespace) }),
		contexts.Nodes:       ids(s.Nodes(), func(n *rpc.Node) (string, bool) { return n.ID, true }),
		contexts.Deployments: ids(deployments(s), func(d *rpc.Deployment) (string, bool) { return d.ID, q.in(d.Namespace) }),
		contexts.Namespaces: func(yield func(string) bool) {
			for _, n := range namespaces() {
				if !yield(n.Name) {
					return
				}
			}
		},
	}
}

func ids[R any](rows iter.Seq[R], id func(R) (id string, visible bool)) iter.Seq[string] {
	return func(yield func(string) bool) {
		for row := range rows {
			if text, ok := id(row); ok && !yield(text) {
				return
			}
		}
	}
}

func match(ids iter.Seq[string], prefix string) (found []string, truncated bool) {
	found = []string{}
	for id := range ids {
		if !strings.HasPrefix(id, prefix) {
			continue
		}
		if len(found) == searchLimit {
			return found, true
		}
		found = append(found, id)
	}
	return found, false
}
