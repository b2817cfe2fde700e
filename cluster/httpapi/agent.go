package httpapi

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/apitypes"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

// datacenter is where the servers say they are.
const datacenter = "dc1"

func (a *API) agentRoutes() {
	a.handle("/v1/agent/self", methods{"GET": a.tell(a.self)})
	a.handle("/v1/agent/members", methods{"GET": a.tell(a.members)})
	a.handle("/v1/agent/servers", methods{"GET": a.tell(a.peers)})
	a.handle("/v1/agent/health", methods{"GET": http.HandlerFunc(a.health)})
	a.handle("/v1/agent/schedulers", methods{"GET": a.tell(a.schedulers)})
	a.handle("/v1/agent/schedulers/config", methods{"GET": a.tell(a.schedulersConfig), "PUT": a.write(a.setSchedulers)})
	a.handle("/v1/status/leader", methods{"GET": http.HandlerFunc(a.leader)})
	a.handle("/v1/status/peers", methods{"GET": a.tell(a.peers)})
	a.handle("/v1/regions", methods{"GET": a.tell(func() any { return []string{apitypes.Region} })})
	a.handle("/v1/namespaces", methods{"GET": a.read(listNamespaces)})
	a.handle("/v1/namespace/{id}", methods{"GET": a.read(namespaceInfo)})
}

// tell returns the handler of a read of something that is not in the state.
func (a *API) tell(what func() any) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		view, err := a.view(r.Context(), true)
		if err != nil {
			fail(w, err)
			return
		}
		setMeta(w, view.Store.Index(), view)
		AnswerJSON(w, r, what())
	})
}

func (a *API) memberOf(m cluster.Member) *api.AgentMember {
	rpcAddr := a.RPC(m.ID)
	status := "alive"
	if !m.Running {
		status = "failed"
	}
	port := strconv.Itoa(int(rpcAddr.Port()))
	return &api.AgentMember{
		Name: m.Addr + "." + apitypes.Region, Addr: rpcAddr.Addr().String(), Port: rpcAddr.Port(), Status: status,
		Tags: map[string]string{
			"role": "nomad", "region": apitypes.Region, "dc": datacenter, "port": port, "rpc_addr": rpcAddr.Addr().String(),
			"build": a.Version, "raft_vsn": "3", "vsn": "1", "id": m.Addr, "expect": strconv.Itoa(a.Cluster.Servers()),
		},
		ProtocolMin: 1, ProtocolMax: 5, ProtocolCur: 2, DelegateMin: 2, DelegateMax: 5, DelegateCur: 4,
	}
}

func (a *API) members() any {
	of := &api.ServerMembers{ServerName: a.Cluster.Addr(a.agent()), ServerRegion: apitypes.Region, ServerDC: datacenter}
	for _, m := range a.Cluster.Members() {
		of.Members = append(of.Members, a.memberOf(m))
	}
	return of
}

func (a *API) peers() any {
	var addrs []string
	for i := range a.Cluster.Servers() {
		addrs = append(addrs, a.RPC(i).String())
	}
	return addrs
}

func (a *API) leader(w http.ResponseWriter, r *http.Request) {
	q, err := parse(r)
	if err == nil {
		_, err = a.view(r.Context(), q.stale)
	}
	if err != nil {
		fail(w, err)
		return
	}
	a.tell(func() any {
		if l := a.Cluster.Leader(); l >= 0 {
			return a.RPC(l).String()
		}
		return ""
	}).ServeHTTP(w, r)
}

// healthResponse is what agents say of their health (command/agent/agent_endpoint.go).
type healthResponse struct {
	Server *api.AgentHealth `json:"server,omitempty"`
}

func (a *API) health(w http.ResponseWriter, r *http.Request) {
	if _, err := a.view(r.Context(), false); err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		AnswerJSON(w, r, healthResponse{&api.AgentHealth{Ok: false, Message: rpc.ErrNoLeader.Error()}})
		return
	}
	AnswerJSON(w, r, healthResponse{&api.AgentHealth{Ok: true, Message: "ok"}})
}

func (a *API) self() any {
	me := a.Cluster.Members()[a.agent()]
	st := a.Cluster.Stats()
	return &api.AgentSelf{
		Config: map[string]any{
			"Region": apitypes.Region, "Datacenter": datacenter, "NodeName": me.Addr, "EnableDebug": false,
			"Version": map[string]any{"Version": a.Version, "VersionMetadata": "simctl", "VersionPrerelease": "", "Revision": ""},
			"Server":  map[string]any{"Enabled": true, "BootstrapExpect": a.Cluster.Servers()},
			"Client":  map[string]any{"Enabled": false},
			"ACL":     map[string]any{"Enabled": a.Token != ""},
		},
		Member: *a.memberOf(me),
		Stats: map[string]map[string]string{
			"nomad": {
				"server": "true", "leader": strconv.FormatBool(me.Leads), "leader_addr": a.leaderAddr(),
				"bootstrap": "false", "known_regions": "1",
			},
			"raft": {
				"last_log_index": strconv.FormatUint(st.LastIndex, 10), "num_peers": strconv.Itoa(a.Cluster.Servers() - 1),
				"state": map[bool]string{true: "Leader", false: "Follower"}[me.Leads],
			},
			"broker": brokerStats(st.Broker),
		},
	}
}

func (a *API) leaderAddr() string {
	if l := a.Cluster.Leader(); l >= 0 {
		return a.RPC(l).String()
	}
	return ""
}

func brokerStats(b broker.Stats) map[string]string {
	return map[string]string{
		"total_ready": strconv.Itoa(b.Ready), "total_unacked": strconv.Itoa(b.Unacked), "total_pending": strconv.Itoa(b.Pending),
		"total_waiting": strconv.Itoa(b.Waiting), "total_cancelable": strconv.Itoa(b.Cancelable),
	}
}

// schedulerTypes are what workers work on.
func schedulerTypes() []string {
	return []string{rpc.JobTypeService, rpc.JobTypeBatch, rpc.JobTypeSystem, rpc.JobTypeSysBatch, rpc.JobTypeCore}
}

func (a *API) schedulers() any {
	of := &api.AgentSchedulerWorkersInfo{ServerID: a.Cluster.Addr(a.agent()), Schedulers: []api.AgentSchedulerWorkerInfo{}}
	for i := range a.Cluster.NumSchedulers(a.agent()) {
		of.Schedulers = append(of.Schedulers, api.AgentSchedulerWorkerInfo{
			ID: fmt.Sprintf("%s-worker-%d", of.ServerID, i+1), EnabledSchedulers: schedulerTypes(),
			Started: a.started.UTC().Format(time.RFC3339Nano), Status: "Started",
		})
	}
	return of
}

func (a *API) schedulersConfig() any {
	return &api.AgentSchedulerWorkerConfigResponse{
		ServerID: a.Cluster.Addr(a.agent()), NumSchedulers: a.Cluster.NumSchedulers(a.agent()), EnabledSchedulers: schedulerTypes(),
	}
}

// maxWorkers bounds the workers of a server.
const maxWorkers = 1024

// setSchedulers sets the number of workers of all servers: one API stands for the agents of
// all of them.
func (a *API) setSchedulers(w http.ResponseWriter, r *http.Request, _ *query) (any, uint64, error) {
	var req api.AgentSchedulerWorkerConfigRequest
	if err := a.decode(w, r, &req); err != nil {
		return nil, 0, err
	}
	want := schedulerTypes()
	slices.Sort(want)
	given := slices.Clone(req.EnabledSchedulers)
	slices.Sort(given)
	switch {
	case req.NumSchedulers < 0 || req.NumSchedulers > maxWorkers:
		return nil, 0, errorf(http.StatusBadRequest, "Invalid request: num_schedulers is %d: it must be 0 to %d", req.NumSchedulers, maxWorkers)
	case !slices.Contains(given, rpc.JobTypeCore):
		return nil, 0, errorf(http.StatusBadRequest, "Invalid request: enabled_schedulers must include %s", rpc.JobTypeCore)
	case !slices.Equal(given, want):
		return nil, 0, errorf(http.StatusBadRequest, "the simulated cluster's workers work on all types of jobs: enabled_schedulers must be %q", schedulerTypes())
	}
	a.Cluster.SetNumSchedulers(req.NumSchedulers)
	return a.schedulersConfig(), 0, nil
}

// namespaces returns the namespaces that there are: no user can make others.
func namespaces() []*api.Namespace {
	return []*api.Namespace{{Name: rpc.DefaultNamespace, Description: "Default shared namespace", CreateIndex: 1, ModifyIndex: 1}}
}

func listNamespaces(*state.Snapshot, *http.Request, *query) (answer, error) {
	return all(1, func() any { return namespaces() }), nil
}

func namespaceInfo(_ *state.Snapshot, r *http.Request, _ *query) (answer, error) {
	for _, n := range namespaces() {
		if n.Name == r.PathValue("id") {
			return all(1, func() any { return n }), nil
		}
	}
	return answer{index: 1, missing: "Namespace not found"}, nil
}
