package httpapi

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

	"github.com/simctl/simctl/cluster/apitypes"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

func (a *API) nodeRoutes() {
	a.handle("/v1/nodes", methods{"GET": a.read(listNodes)})
	a.handle("/v1/node/{id}", methods{"GET": a.read(nodeInfo)})
	a.handle("/v1/node/{id}/allocations", methods{"GET": a.read(nodeAllocations)})
	a.handle("/v1/node/{id}/drain", methods{"PUT": a.write(a.drain)})
	a.handle("/v1/node/{id}/eligibility", methods{"PUT": a.write(a.eligibility)})
	a.handle("/v1/node/{id}/evaluate", methods{"PUT": a.write(a.evaluateNode)})
	a.handle("/v1/node/{id}/purge", methods{"PUT": a.write(a.purge)})
	for _, path := range []string{"/v1/client/stats", "/v1/client/allocation/", "/v1/client/fs/"} {
		a.mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			// What the nomad command takes for a node that cannot be asked now.
			fail(w, errorf(http.StatusNotFound, "No path to node"))
		})
	}
	a.handle("/v1/allocations", methods{"GET": a.read(listAllocs)})
	a.handle("/v1/allocation/{id}", methods{"GET": a.read(allocInfo)})
}

func listNodes(s *state.Snapshot, r *http.Request, q *query) (answer, error) {
	shape := apitypes.NodeStub
	if r.URL.Query().Get("resources") == "true" {
		shape = apitypes.NodeStubWithResources
	}
	return answer{index: s.NodesIndex(), body: func() (any, string, error) {
		return page(q, s.Nodes(), listing[*rpc.Node, *api.NodeListStub]{
			token: func(n *rpc.Node) string { return n.ID },
			keep:  func(n *rpc.Node) bool { return strings.HasPrefix(n.ID, q.prefix) },
			shape: func(n *rpc.Node) *api.NodeListStub { return shape(s, n) },
			whole: func(n *rpc.Node) any { return apitypes.Node(s, n) },
		})
	}}, nil
}

func nodeInfo(s *state.Snapshot, r *http.Request, _ *query) (answer, error) {
	n := s.NodeByID(r.PathValue("id"))
	if n == nil {
		return answer{index: s.NodesIndex(), missing: "node not found"}, nil
	}
	return all(n.ModifyIndex, func() any { return apitypes.Node(s, n) }), nil
}

func nodeAllocations(s *state.Snapshot, r *http.Request, _ *query) (answer, error) {
	on := s.NodeAllocs(r.PathValue("id"))
	return all(max(on.Index, 1), func() any {
		jobs := newJobCache(s)
		found := []*api.Allocation{}
		for _, alloc := range on.All {
			found = append(found, apitypes.Alloc(s, alloc, jobs.of(alloc)))
		}
		return found
	}), nil
}

// jobCache shapes each job once.
type jobCache struct {
	s     *state.Snapshot
	facts *apitypes.JobFacts // nil until a job is asked for
	jobs  map[*rpc.Job]*api.Job
}

func newJobCache(s *state.Snapshot) *jobCache { return &jobCache{s: s, jobs: map[*rpc.Job]*api.Job{}} }

// of returns the job of an allocation.
func (c *jobCache) of(a *rpc.Allocation) *api.Job {
	job := apitypes.JobOf(c.s, a)
	if c.facts == nil {
		c.facts = apitypes.NewJobFacts(c.s)
	}
	if c.jobs[job] == nil {
		c.jobs[job] = apitypes.Job(job, c.facts.Status(c.s, job))
	}
	return c.jobs[job]
}

func listAllocs(s *state.Snapshot, _ *http.Request, q *query) (answer, error) {
	return answer{index: s.AllocsIndex(), body: func() (any, string, error) { return allocPage(s, q, s.Allocs()) }}, nil
}

func allocInfo(s *state.Snapshot, r *http.Request, _ *query) (answer, error) {
	alloc := s.AllocByID(r.PathValue("id"))
	if alloc == nil {
		return answer{index: s.AllocsIndex(), missing: "alloc not found"}, nil
	}
	return all(alloc.ModifyIndex, func() any {
		jobs := newJobCache(s)
		return apitypes.Alloc(s, alloc, jobs.of(alloc))
	}), nil
}

func (a *API) drain(w http.ResponseWriter, r *http.Request, _ *query) (any, uint64, error) {
	var req api.NodeUpdateDrainRequest
	if err := a.decode(w, r, &req); err != nil {
		return nil, 0, err
	}
	id := r.PathValue("id")
	if err := a.Cluster.DrainNodeNoting(r.Context(), id, apitypes.ToDrain(req.DrainSpec), req.MarkEligible, apitypes.DrainMeta(req.Meta)); err != nil {
		return nil, 0, err
	}
	node, evals, created, err := a.changedNode(r.Context(), id)
	return &api.NodeDrainUpdateResponse{NodeModifyIndex: node, EvalIDs: evals, EvalCreateIndex: created}, max(node, created), err
}

func (a *API) eligibility(w http.ResponseWriter, r *http.Request, _ *query) (any, uint64, error) {
	var req api.NodeUpdateEligibilityRequest
	if err := a.decode(w, r, &req); err != nil {
		return nil, 0, err
	}
	if req.Eligibility != rpc.NodeEligible && req.Eligibility != rpc.NodeIneligible {
		return nil, 0, errorf(http.StatusBadRequest, "invalid scheduling eligibility %q", req.Eligibility)
	}
	id := r.PathValue("id")
	if err := a.Cluster.SetEligibility(r.Context(), id, req.Eligibility == rpc.NodeEligible); err != nil {
		return nil, 0, err
	}
	node, evals, created, err := a.changedNode(r.Context(), id)
	return &api.NodeEligibilityUpdateResponse{NodeModifyIndex: node, EvalIDs: evals, EvalCreateIndex: created}, max(node, created), err
}

func (a *API) evaluateNode(_ http.ResponseWriter, r *http.Request, _ *query) (any, uint64, error) {
	id := r.PathValue("id")
	if err := a.Cluster.EvaluateNode(r.Context(), id); err != nil {
		return nil, 0, err
	}
	node, evals, created, err := a.changedNode(r.Context(), id)
	return &nodeEvalResponse{NodeModifyIndex: node, EvalIDs: evals, EvalCreateIndex: created}, max(node, created), err
}

func (a *API) purge(_ http.ResponseWriter, r *http.Request, _ *query) (any, uint64, error) {
	id := r.PathValue("id")
	if err := a.Cluster.PurgeNode(r.Context(), id); err != nil {
		return nil, 0, err
	}
	_, evals, created, err := a.changedNode(r.Context(), id)
	if err != nil {
		return nil, 0, err
	}
	return &api.NodePurgeResponse{EvalIDs: evals, EvalCreateIndex: created, NodeModifyIndex: created}, created, nil
}

// nodeEvalResponse answers an evaluation of a node. The module nomad/api keeps its own to
// itself.
type nodeEvalResponse struct {
	EvalIDs         []string
	EvalCreateIndex uint64
	NodeModifyIndex uint64
}

// changedNode returns the index of a node's last change and its latest evaluations, if that
// made any.
func (a *API) changedNode(ctx context.Context, id string) (node uint64, evalIDs []string, created uint64, err error) {
	s, err := a.fresh(ctx)
	if err != nil {
		return 0, nil, 0, err
	}
	node = s.NodesIndex()
	if n := s.NodeByID(id); n != nil {
		node = n.ModifyIndex
	}
	for e := range s.Evals() {
		switch {
		case e.NodeID != id || e.NodeModifyIndex < node || e.CreateIndex < created:
		case e.CreateIndex > created:
			created, evalIDs = e.CreateIndex, []string{e.ID}
		default:
			evalIDs = append(evalIDs, e.ID)
		}
	}
	slices.Sort(evalIDs)
	return node, evalIDs, created, nil
}
