package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"
	"golang.org/x/sync/errgroup"

	"github.com/simctl/simctl/internal/nomadproc"
	"github.com/simctl/simctl/internal/nomadrpc"
	"github.com/simctl/simctl/internal/uuid"
)

// lab is a cluster without workers, and does the work in their place. If one of its methods fails it panics with a
// failure, since a trial cannot go on then.
type lab struct {
	*nomadproc.Cluster
	ctx context.Context
	api *api.Client // of the server that is talked to, and so is rpc
	rpc *nomadrpc.Session
	at  int // its number
	conditions
}

// conditions are what findings are tried under.
type conditions struct {
	out  io.Writer
	many int     // how many plans a flood has
	pace float64 // of the servers' timers, and so of what waits for them; 1 for Nomad
}

type failure struct{ error }

func check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// caught turns a panic with a failure into an error. It must be deferred.
func caught(err *error) {
	if r := recover(); r != nil {
		f, ok := r.(failure)
		if !ok {
			panic(r)
		}
		*err = f.error
	}
}

func (l *lab) say(format string, args ...any) { fmt.Fprintf(l.out, format+"\n", args...) }

// wait lets time pass on the servers' timers.
func (l *lab) wait(d time.Duration) {
	select {
	case <-l.ctx.Done():
		check(l.ctx.Err())
	case <-time.After(time.Duration(l.pace * float64(d))):
	}
}

// leads returns the number of the server that leads, -1 if none does.
func (l *lab) leads() int {
	address, err := l.api.Status().Leader()
	return slices.IndexFunc(l.Servers, func(s nomadproc.Server) bool { return err == nil && s.RPC == address })
}

// dial talks to another server from here on.
func (l *lab) dial(server int) {
	if l.rpc != nil {
		l.rpc.Close()
	}
	var err error
	l.at = server
	l.api, err = api.NewClient(&api.Config{Address: "http://" + l.Servers[server].HTTP})
	check(err)
	l.rpc, err = nomadrpc.Dial(l.ctx, l.Servers[server].RPC, nomadrpc.DialConfig{})
	check(err)
}

// await waits until something is so, and returns how long that took.
func (l *lab) await(what string, limit time.Duration, so func() bool) time.Duration {
	begin := time.Now()
	for !so() {
		if time.Since(begin) > limit {
			check(fmt.Errorf("%s is not so after %v", what, limit))
		}
		l.wait(50 * time.Millisecond)
	}
	return time.Since(begin)
}

// each calls f with 0 to n-1, several at a time.
func each(n int, f func(i int)) {
	var g errgroup.Group
	g.SetLimit(16)
	for i := range n {
		g.Go(func() (err error) {
			defer caught(&err)
			f(i)
			return nil
		})
	}
	check(g.Wait())
}

// group and task are the names of the only ones that a job has, and memoryMB is what it asks for.
const (
	group    = "g"
	task     = "t"
	memoryMB = 100
)

// register registers a job of one allocation.
func (l *lab) register(id, kind string, priority int) { l.registerMany(id, kind, priority, 1) }

// registerMany registers a job of so many allocations.
func (l *lab) registerMany(id, kind string, priority, count int) {
	job := api.NewServiceJob(id, id, "global", priority)
	if job.Type = &kind; kind == "service" {
		job.Update = &api.UpdateStrategy{MaxParallel: new(0)} // without deployments
	}
	t := api.NewTask(task, "mock_driver").Require(&api.Resources{CPU: new(10), MemoryMB: new(memoryMB)})
	job.AddDatacenter("dc1").AddTaskGroup(api.NewTaskGroup(group, count).AddTask(t))
	_, _, err := l.api.Jobs().Register(job, nil)
	check(err)
}

// work is an evaluation that a worker has.
type work struct {
	*nomadrpc.Evaluation
	token string
}

// take has a worker ask for an evaluation of these types. It fails if there is none for half a minute.
func (l *lab) take(kinds ...string) work {
	var answer nomadrpc.EvalDequeueResponse
	begin := time.Now()
	for answer.Eval == nil {
		if time.Since(begin) > 30*time.Second {
			check(fmt.Errorf("no evaluation of type %v in half a minute", kinds))
		}
		ask := &nomadrpc.EvalDequeueRequest{Schedulers: kinds, SchedulerVersion: 1, Timeout: time.Second, WriteRequest: global}
		check(l.rpc.Call(l.ctx, "Eval.Dequeue", ask, &answer))
	}
	return work{answer.Eval, answer.Token}
}

var global = nomadrpc.WriteRequest{Region: "global"}

// end has a worker acknowledge an evaluation, or give it back.
func (l *lab) end(w work, method string) {
	check(l.rpc.Call(l.ctx, method, &nomadrpc.EvalAckRequest{EvalID: w.ID, Token: w.token, WriteRequest: global}, &nomadrpc.GenericResponse{}))
}

const (
	ack  = "Eval.Ack"
	nack = "Eval.Nack"
)

func newID() string { return uuid.Random(rand.NewPCG(rand.Uint64(), rand.Uint64())) }

// node registers a node with room for so many allocations, and makes it ready.
func (l *lab) node(name string, room int) *nomadrpc.Node {
	n := &nomadrpc.Node{
		ID: newID(), SecretID: newID(), Name: name, Datacenter: "dc1", NodePool: "default", Status: "initializing",
		Attributes: map[string]string{"kernel.name": "linux", "driver.mock_driver": "1"},
		NodeResources: &nomadrpc.NodeResources{
			Cpu: nomadrpc.NodeCPUResources{CpuShares: 100_000, TotalCpuCores: 40}, Memory: nomadrpc.NodeMemoryResources{MemoryMB: int64(room * memoryMB)},
			Disk:     nomadrpc.NodeDiskResources{DiskMB: 1 << 20},
			Networks: []*nomadrpc.NetworkResource{{Mode: "host", Device: "lo", CIDR: "127.0.0.1/32", IP: "127.0.0.1"}},
		},
	}
	check(l.rpc.Call(l.ctx, "Node.Register", &nomadrpc.NodeRegisterRequest{Node: n, WriteRequest: global}, &nomadrpc.NodeUpdateResponse{}))
	l.status(n, "ready")
	return n
}

// status has a node become ready or down.
func (l *lab) status(n *nomadrpc.Node, status string) {
	w := global
	w.AuthToken = n.SecretID
	check(l.rpc.Call(l.ctx, "Node.UpdateStatus", &nomadrpc.NodeUpdateStatusRequest{NodeID: n.ID, Status: status, WriteRequest: w}, &nomadrpc.NodeUpdateResponse{}))
}

// newest returns the index of the last change of a node.
func (l *lab) newest() uint64 {
	_, meta, err := l.api.Nodes().PrefixList("00000000") // as few as can be
	check(err)
	return meta.LastIndex
}

// plan has a worker submit a plan that places its evaluation's job n times on a node. It was made on the state in which the
// evaluation last changed.
func (l *lab) plan(w work, on *nomadrpc.Node, n int) (*nomadrpc.PlanResult, error) {
	p := &nomadrpc.Plan{
		EvalID: w.ID, EvalToken: w.token, Priority: w.Priority, SnapshotIndex: w.ModifyIndex,
		JobInfo: &nomadrpc.PlanJob{Namespace: "default", ID: w.JobID}, NodeAllocation: map[string][]*nomadrpc.Allocation{},
	}
	if strings.HasPrefix(l.Version, "1.") {
		p.JobInfo = nil
		p.Job = &nomadrpc.Job{
			Region: "global", Namespace: "default", ID: w.JobID, Name: w.JobID, Type: "service", Priority: w.Priority, Datacenters: []string{"dc1"},
			TaskGroups: []*nomadrpc.TaskGroup{{Name: group, Count: 1, Tasks: []*nomadrpc.Task{{Name: task, Driver: "mock_driver"}}}},
		}
	}
	for i := range n {
		p.NodeAllocation[on.ID] = append(p.NodeAllocation[on.ID], &nomadrpc.Allocation{
			ID: newID(), Namespace: "default", EvalID: w.ID, Name: fmt.Sprintf("%s.%s[%d]", w.JobID, group, i),
			NodeID: on.ID, NodeName: on.Name, JobID: w.JobID, TaskGroup: group, DesiredStatus: "run", ClientStatus: "pending",
			AllocatedResources: &nomadrpc.AllocatedResources{Tasks: map[string]*nomadrpc.AllocatedTaskResources{
				task: {Cpu: nomadrpc.AllocatedCPUResources{CpuShares: 10}, Memory: nomadrpc.AllocatedMemoryResources{MemoryMB: memoryMB}},
			}},
		})
	}
	var answer nomadrpc.PlanResponse
	err := l.rpc.Call(l.ctx, "Plan.Submit", &nomadrpc.PlanRequest{Plan: p, WriteRequest: global}, &answer)
	return answer.Result, err
}

// refused reports whether nothing of a plan was written.
func refused(p *nomadrpc.PlanResult) bool { return len(p.NodeAllocation) == 0 }

// said is what a worker hears of its plan.
func said(p *nomadrpc.PlanResult, err error) string {
	switch {
	case err != nil:
		return "failed: " + err.Error()
	case refused(p):
		return fmt.Sprintf("refused, to be made again from index %d on", p.RefreshIndex)
	}
	return fmt.Sprintf("written at index %d", p.AllocIndex)
}

// running returns the names of the allocations that should run on a node.
func (l *lab) running(n *nomadrpc.Node) (names []string) {
	allocs, _, err := l.api.Nodes().Allocations(n.ID, nil)
	check(err)
	for _, a := range allocs {
		if a.DesiredStatus == "run" {
			names = append(names, a.Name)
		}
	}
	return names
}

// gauge returns a figure of the server's, by its name for Prometheus without "nomad_nomad_"; zero if there is
// none. Figures of several labels are added up.
func (l *lab) gauge(name string) (sum float64) {
	resp, err := http.Get("http://" + l.Servers[l.at].HTTP + "/v1/metrics?format=prometheus")
	check(err)
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), "nomad_nomad_"+name); ok && strings.ContainsAny(rest[:1], "{ ") {
			v, err := strconv.ParseFloat(rest[strings.LastIndexByte(rest, ' ')+1:], 64)
			check(err)
			sum += v
		}
	}
	check(lines.Err())
	return sum
}
