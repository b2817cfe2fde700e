package soak

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/scenarios/internal/actions/operations"
	"github.com/simctl/simctl/scenarios/internal/draw"
)

// generator draws what a schedule is made of.
type generator struct {
	draw.Source
	// second draws what makes servers restore snapshots: Raft's settings and a restart. It is a source of its own, so
	// that the rest of a schedule does not depend on these draws.
	second *rand.Rand
}

// newGenerator returns the generator of a seed's schedule.
func newGenerator(seed int64) *generator {
	return &generator{draw.Source{Rand: rand.New(rand.NewPCG(uint64(seed), 0x50a4))}, rand.New(rand.NewPCG(uint64(seed), 0x5a95))}
}

// What a schedule says differently under some releases; see Schedule.Under.
const (
	reportAllocations   = "report_allocations = "
	maxClientDisconnect = "max_client_disconnect = "
)

// head draws everything in front of the behaviours and the phases.
func (g *generator) head() string {
	nodes := 5 + g.Rand.IntN(46)
	perNode := 1 + g.Rand.IntN(3)
	g.Servers = []int{1, 3, 3, 3, 5}[g.Rand.IntN(5)]
	datacenters := 1 + g.Rand.IntN(2)
	g.Collects, g.Signs = g.Chance(1, 4), g.Chance(1, 4)
	cluster := g.cluster()
	jobs, slots := g.makeJobs(nodes, perNode, datacenters)
	if g.Chance(1, 4) {
		slots = max(slots*2/5, 2) // so that not everything has room
	}
	return "title = \"a random schedule of faults\"\n\n" + cluster + g.fleet(nodes, slots, datacenters) + jobs
}

// cluster draws the servers and their settings.
func (g *generator) cluster() string {
	var b strings.Builder
	fmt.Fprintf(&b, "cluster {\n  servers = %d\n", g.Servers)
	if g.Signs { // it is renewed in its last third: for some schedules, during the events
		fmt.Fprintf(&b, "  identity_ttl = %s\n", g.Delay(90*time.Second, 6*time.Minute))
	}
	if g.Chance(1, 8) {
		b.WriteString("  datacenter_filter = false\n")
	}
	b.WriteString(g.raft())
	if g.Chance(1, 4) {
		fmt.Fprintf(&b, "\n  heartbeat {\n    failover_ttl = %s\n    grace = %s\n  }\n", g.Delay(20*time.Second, 2*time.Minute), g.Delay(2*time.Second, 20*time.Second))
	}
	if g.Chance(1, 4) {
		fmt.Fprintf(&b, "\n  reaper {\n    interval = %s\n    batch = %d\n  }\n", g.Delay(time.Second, 10*time.Second), 1+g.Rand.IntN(50))
	}
	if g.Chance(1, 4) {
		fmt.Fprintf(&b, "\n  evaluations {\n    nack_timeout = %s\n    subsequent_nack_delay = %s\n    delivery_limit = %d\n  }\n",
			g.Delay(10*time.Second, time.Minute), g.Delay(time.Second, 20*time.Second), 1+g.Rand.IntN(4))
	}
	if g.Collects && g.Chance(2, 3) {
		fmt.Fprintf(&b, "\n  garbage {\n    interval = %s\n    eval_threshold = %s\n    job_threshold = %s\n    time_granularity = \"10s\"\n  }\n",
			g.Delay(15*time.Second, time.Minute), g.Delay(20*time.Second, 2*time.Minute), g.Delay(30*time.Second, 3*time.Minute))
	}
	b.WriteString("}\n\n")
	return b.String()
}

// raft draws Raft's settings. Snapshots are so frequent that a server which starts again restores one, and logs
// so short that a server which was away for long needs the leader's snapshot.
func (g *generator) raft() string {
	s := draw.Source{Rand: g.second}
	return fmt.Sprintf("\n  raft {\n    snapshot_threshold = %d\n    snapshot_interval = %s\n    trailing_logs = %d\n  }\n",
		5+s.Rand.IntN(60), s.Delay(5*time.Second, 40*time.Second), 1+s.Rand.IntN(30))
}

// restart draws a server that is down for a while, in the course of the events.
func (g *generator) restart() draw.Event {
	s := draw.Source{Rand: g.second, Servers: g.Servers}
	e := draw.NewEvent("kill_server", "server = "+s.Server(), "for = "+s.Delay(5*time.Second, time.Minute))
	e.At = s.Instant(window)
	return e
}

// fleet draws the clients: nodes of them with room for so many allocations each.
func (g *generator) fleet(nodes, slots, datacenters int) string {
	var b strings.Builder
	g.Reports = g.Chance(1, 2)
	fmt.Fprintf(&b, "fleet {\n  %s%t\n", reportAllocations, g.Reports)
	if g.Chance(1, 3) {
		fmt.Fprintf(&b, "  start_delay = uniform(\"0s\", %s)\n  stop_delay = uniform(\"0s\", %s)\n", g.Delay(time.Second, 10*time.Second), g.Delay(time.Second, 20*time.Second))
	}
	groups := max(datacenters, 1+g.Rand.IntN(3))
	for i := range groups {
		name := fmt.Sprintf("clients%d", i+1)
		g.Groups = append(g.Groups, name)
		fmt.Fprintf(&b, "\n  group %q {\n    nodes = %d\n    datacenter = \"dc%d\"\n    racks = %d\n", name, (nodes+i)/groups, 1+i%datacenters, 1+g.Rand.IntN(3))
		if g.Chance(1, 3) {
			fmt.Fprintf(&b, "    class = \"class%d\"\n", 1+g.Rand.IntN(2))
		}
		fmt.Fprintf(&b, "\n    resources {\n      cpu = %d\n      memory = %d\n      disk = %d\n    }\n  }\n",
			slots*operations.AllocResources.CPUMHz, slots*operations.AllocResources.MemoryMB, slots*operations.AllocResources.DiskMB)
	}
	b.WriteString("}\n\n")
	return b.String()
}

// makeJobs draws the jobs and returns their blocks, and how many allocations a node must
// hold for all of them to have room while most nodes are there.
func (g *generator) makeJobs(nodes, perNode, datacenters int) (text string, slots int) {
	var b strings.Builder
	slots = 4
	for {
		for _, kind := range []string{rpc.JobTypeSystem, rpc.JobTypeService, rpc.JobTypeBatch, rpc.JobTypeSysBatch} {
			if g.Collects && kind == rpc.JobTypeSysBatch {
				continue
			}
			for i := range g.Rand.IntN(3) {
				slots += g.job(&b, draw.Job{Name: fmt.Sprintf("%s%d", kind, i+1), Kind: kind}, nodes, perNode, datacenters)
			}
		}
		if len(g.Jobs) > 0 {
			return b.String(), slots
		}
	}
}

// job draws the rest of a job, writes its block, and returns what of a node it needs.
func (g *generator) job(b *strings.Builder, j draw.Job, nodes, perNode, datacenters int) (slots int) {
	copies := 1 + g.Rand.IntN(3)
	fmt.Fprintf(b, "job %q {\n  type = %q\n  copies = %d\n", j.Name, j.Kind, copies)
	slots = copies
	if j.Kind == rpc.JobTypeService || j.Kind == rpc.JobTypeBatch {
		j.Count = max(1, nodes*perNode/copies/(1+g.Rand.IntN(4)))
		slots = 2 + 4*j.Count*copies/nodes
		fmt.Fprintf(b, "  count = %d\n", j.Count)
	}
	if g.Chance(1, 3) {
		fmt.Fprintf(b, "  priority = %d\n", 1+g.Rand.IntN(100))
	}
	if datacenters > 1 && g.Chance(1, 3) {
		fmt.Fprintf(b, "  datacenters = [\"dc%d\"]\n", 1+g.Rand.IntN(datacenters))
	}
	if g.Chance(1, 3) {
		fmt.Fprintf(b, "  %s%s\n", maxClientDisconnect, g.Delay(5*time.Second, 3*time.Minute))
	}
	if (j.Kind == rpc.JobTypeService || j.Kind == rpc.JobTypeSystem) && g.Chance(1, 3) {
		j.Deploys = j.Kind == rpc.JobTypeService
		fmt.Fprintf(b, "  max_parallel = %d\n", 1+g.Rand.IntN(5))
	}
	if (j.Kind == rpc.JobTypeBatch || j.Kind == rpc.JobTypeSysBatch) && g.Chance(1, 2) {
		j.Periodic = true
		fmt.Fprintf(b, "  every = %s\n  prohibit_overlap = %t\n", g.Delay(45*time.Second, 4*time.Minute), g.Chance(1, 2))
	}
	b.WriteString("}\n\n")
	g.Jobs = append(g.Jobs, j)
	return slots
}
