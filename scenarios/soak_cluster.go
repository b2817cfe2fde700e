package scenarios

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
)

// soakGenerator draws what a schedule is made of.
type soakGenerator struct {
	rand       *rand.Rand
	servers    int
	groups     []string
	jobs       []soakJob
	behaviours int
	// collects says that garbage is collected while the schedule runs. Then there is nothing
	// whose being over must be remembered by somebody: sysbatch jobs, and system allocations
	// that failed, would run again.
	collects bool
}

// soakJob is a job block of a schedule.
type soakJob struct {
	name, kind string
	count      int // of each copy; 0 for those that run on every node
	deploys    bool
	periodic   bool
}

func (g *soakGenerator) chance(one, in int) bool { return g.rand.IntN(in) < one }

// head draws everything in front of the behaviours and the phases.
func (g *soakGenerator) head() string {
	nodes := 5 + g.rand.IntN(46)
	perNode := 1 + g.rand.IntN(3)
	g.servers = []int{1, 3, 3, 3, 5}[g.rand.IntN(5)]
	datacenters := 1 + g.rand.IntN(2)
	g.collects = g.chance(1, 4)
	cluster := g.cluster()
	jobs, slots := g.makeJobs(nodes, perNode, datacenters)
	if g.chance(1, 4) {
		slots = max(slots*2/5, 2) // so that not everything has room
	}
	return "title = \"a random schedule of faults\"\n\n" + cluster + g.fleet(nodes, slots, datacenters) + jobs
}

// cluster draws the servers and their settings.
func (g *soakGenerator) cluster() string {
	var b strings.Builder
	fmt.Fprintf(&b, "cluster {\n  servers = %d\n", g.servers)
	if g.chance(1, 8) {
		b.WriteString("  datacenter_filter = false\n")
	}
	if g.chance(1, 2) {
		fmt.Fprintf(&b, "\n  raft {\n    snapshot_threshold = %d\n    trailing_logs = %d\n  }\n", 20+g.rand.IntN(100), 5+g.rand.IntN(40))
	}
	if g.chance(1, 4) {
		fmt.Fprintf(&b, "\n  heartbeat {\n    failover_ttl = %s\n    grace = %s\n  }\n", g.delay(20*time.Second, 2*time.Minute), g.delay(2*time.Second, 20*time.Second))
	}
	if g.chance(1, 4) {
		fmt.Fprintf(&b, "\n  reaper {\n    interval = %s\n    batch = %d\n  }\n", g.delay(time.Second, 10*time.Second), 1+g.rand.IntN(50))
	}
	if g.chance(1, 4) {
		fmt.Fprintf(&b, "\n  evaluations {\n    nack_timeout = %s\n    subsequent_nack_delay = %s\n    delivery_limit = %d\n  }\n",
			g.delay(10*time.Second, time.Minute), g.delay(time.Second, 20*time.Second), 1+g.rand.IntN(4))
	}
	if g.collects && g.chance(2, 3) {
		fmt.Fprintf(&b, "\n  garbage {\n    interval = %s\n    eval_threshold = %s\n    job_threshold = %s\n    time_granularity = \"10s\"\n  }\n",
			g.delay(15*time.Second, time.Minute), g.delay(20*time.Second, 2*time.Minute), g.delay(30*time.Second, 3*time.Minute))
	}
	b.WriteString("}\n\n")
	return b.String()
}

// fleet draws the clients: nodes of them with room for so many allocations each.
func (g *soakGenerator) fleet(nodes, slots, datacenters int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "fleet {\n  report_allocations = %t\n", g.chance(1, 2))
	if g.chance(1, 3) {
		fmt.Fprintf(&b, "  start_delay = uniform(\"0s\", %s)\n  stop_delay = uniform(\"0s\", %s)\n", g.delay(time.Second, 10*time.Second), g.delay(time.Second, 20*time.Second))
	}
	groups := max(datacenters, 1+g.rand.IntN(3))
	for i := range groups {
		name := fmt.Sprintf("clients%d", i+1)
		g.groups = append(g.groups, name)
		fmt.Fprintf(&b, "\n  group %q {\n    nodes = %d\n    datacenter = \"dc%d\"\n    racks = %d\n", name, (nodes+i)/groups, 1+i%datacenters, 1+g.rand.IntN(3))
		if g.chance(1, 3) {
			fmt.Fprintf(&b, "    class = \"class%d\"\n", 1+g.rand.IntN(2))
		}
		fmt.Fprintf(&b, "\n    resources {\n      cpu = %d\n      memory = %d\n      disk = %d\n    }\n  }\n",
			slots*allocResources.CPUMHz, slots*allocResources.MemoryMB, slots*allocResources.DiskMB)
	}
	b.WriteString("}\n\n")
	return b.String()
}

// makeJobs draws the jobs and returns their blocks, and how many allocations a node must
// hold for all of them to have room while most nodes are there.
func (g *soakGenerator) makeJobs(nodes, perNode, datacenters int) (text string, slots int) {
	var b strings.Builder
	slots = 4
	for {
		for _, kind := range []string{rpc.JobTypeSystem, rpc.JobTypeService, rpc.JobTypeBatch, rpc.JobTypeSysBatch} {
			if g.collects && kind == rpc.JobTypeSysBatch {
				continue
			}
			for i := range g.rand.IntN(3) {
				slots += g.job(&b, soakJob{name: fmt.Sprintf("%s%d", kind, i+1), kind: kind}, nodes, perNode, datacenters)
			}
		}
		if len(g.jobs) > 0 {
			return b.String(), slots
		}
	}
}

// job draws the rest of a job, writes its block, and returns what of a node it needs.
func (g *soakGenerator) job(b *strings.Builder, j soakJob, nodes, perNode, datacenters int) (slots int) {
	copies := 1 + g.rand.IntN(3)
	fmt.Fprintf(b, "job %q {\n  type = %q\n  copies = %d\n", j.name, j.kind, copies)
	slots = copies
	if j.kind == rpc.JobTypeService || j.kind == rpc.JobTypeBatch {
		j.count = max(1, nodes*perNode/copies/(1+g.rand.IntN(4)))
		slots = 2 + 4*j.count*copies/nodes
		fmt.Fprintf(b, "  count = %d\n", j.count)
	}
	if g.chance(1, 3) {
		fmt.Fprintf(b, "  priority = %d\n", 1+g.rand.IntN(100))
	}
	if datacenters > 1 && g.chance(1, 3) {
		fmt.Fprintf(b, "  datacenters = [\"dc%d\"]\n", 1+g.rand.IntN(datacenters))
	}
	if g.chance(1, 3) {
		fmt.Fprintf(b, "  max_client_disconnect = %s\n", g.delay(5*time.Second, 3*time.Minute))
	}
	if (j.kind == rpc.JobTypeService || j.kind == rpc.JobTypeSystem) && g.chance(1, 3) {
		j.deploys = j.kind == rpc.JobTypeService
		fmt.Fprintf(b, "  max_parallel = %d\n", 1+g.rand.IntN(5))
	}
	if (j.kind == rpc.JobTypeBatch || j.kind == rpc.JobTypeSysBatch) && g.chance(1, 2) {
		j.periodic = true
		fmt.Fprintf(b, "  every = %s\n  prohibit_overlap = %t\n", g.delay(45*time.Second, 4*time.Minute), g.chance(1, 2))
	}
	b.WriteString("}\n\n")
	g.jobs = append(g.jobs, j)
	return slots
}

func (g *soakGenerator) between(from, to float64) string {
	return fmt.Sprintf("%.2f", from+g.rand.Float64()*(to-from))
}

func (g *soakGenerator) delay(from, to time.Duration) string {
	return fmt.Sprintf("%q", (from + time.Duration(g.rand.Int64N(int64(to-from)))).Truncate(time.Millisecond))
}
