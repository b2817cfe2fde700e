package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
)

// soakWindow is when events happen, from the start of their phase.
const soakWindow = 2 * time.Minute

// event draws one event: of a server, of the network, of clients, of users or of operators.
func (g *soakGenerator) event() soakEvent {
	kinds := [][]func() soakEvent{
		{g.killServer, g.killServer, g.pauseServer, g.startServer, g.slowDisk, g.slowApply, g.crashWorkers, g.stickApplier},
		{g.partition, g.partition, g.cutClients, g.linkDelay, g.linkLoss},
		{g.stopClients, g.resumeClients, g.flapClients, g.skewClocks, g.behaviour, g.behaviour, g.nodeEvents},
		{g.updateJob, g.updateJob, g.scaleJob, g.stopJob, g.registerJobs, g.failAllocs, g.failAllocs, g.launchJob},
		{g.drainNodes, g.drainNodes, g.endDrains, g.eligibility, g.schedulers, g.pauseBroker, g.resumeBroker, g.collectGarbage},
	}
	at := time.Duration(g.rand.Int64N(int64(soakWindow))).Truncate(time.Millisecond)
	of := kinds[g.rand.IntN(len(kinds))]
	e := of[g.rand.IntN(len(of))]()
	e.at = at
	return e
}

func happens(word string, lines ...string) soakEvent { return soakEvent{word: word, lines: lines} }

// possible leaves out what users and operators would be refused: to do something to jobs that
// an earlier event has stopped or purged, and to make nodes eligible that drain. And it
// leaves out garbage that would take nodes with what operators said of them: whether it does
// hangs on moments.
func possible(events []soakEvent) []soakEvent {
	gone := map[string]bool{} // "word job" of what nobody may do any more
	has := func(word string) bool {
		return slices.ContainsFunc(events, func(e soakEvent) bool { return e.word == word })
	}
	drains := has("drain_nodes")
	said := drains || has("set_eligibility")
	return slices.DeleteFunc(events, func(e soakEvent) bool {
		switch e.word {
		case "collect_garbage":
			return said
		case "set_eligibility":
			return drains && slices.Contains(e.lines, "eligible = true")
		}
		if len(e.lines) == 0 || gone[e.word+" "+e.lines[0]] {
			return len(e.lines) > 0
		}
		if e.word == "stop_job" {
			gone["launch_job "+e.lines[0]] = true
			if slices.Contains(e.lines, "purge = true") {
				for _, word := range []string{"stop_job", "scale_job", "fail_allocs"} {
					gone[word+" "+e.lines[0]] = true
				}
			}
		}
		return false
	})
}

// lasts is a line that says how long a fault lasts: 1 s to 90 s, mostly short.
func (g *soakGenerator) lasts() string {
	d := time.Second + time.Duration(g.rand.Float64()*g.rand.Float64()*float64(89*time.Second))
	return fmt.Sprintf("for = %q", d.Truncate(time.Millisecond))
}

func (g *soakGenerator) server() string {
	switch g.rand.IntN(3) {
	case 0:
		return `"leader"`
	case 1:
		if g.servers > 1 {
			return `"follower"`
		}
	}
	return g.numbered()
}

func (g *soakGenerator) numbered() string { return fmt.Sprint(1 + g.rand.IntN(g.servers)) }

func (g *soakGenerator) killServer() soakEvent {
	if g.chance(1, 3) {
		return happens("kill_leader", g.lasts())
	}
	return happens("kill_server", "server = "+g.server(), g.lasts())
}

func (g *soakGenerator) startServer() soakEvent {
	return happens("start_server", "server = "+g.numbered())
}

func (g *soakGenerator) pauseServer() soakEvent {
	if g.chance(1, 3) {
		return happens("pause_leader", g.lasts())
	}
	return happens("pause_server", "server = "+g.server(), g.lasts())
}

// ends are the ends of the links that a fault concerns; none for all links.
func (g *soakGenerator) ends() []string {
	lines := []string{}
	if g.chance(3, 4) {
		lines = append(lines, "", "from {", "  servers = ["+g.server()+"]", "}", "")
	}
	return lines
}

func (g *soakGenerator) partition() soakEvent {
	return happens("partition", append([]string{g.lasts(), fmt.Sprintf("one_way = %t", g.chance(1, 3))}, g.ends()...)...)
}

func (g *soakGenerator) cutClients() soakEvent {
	return happens("partition", g.lasts(), "", "from {", "  clients = "+g.between(0.1, 1), "}")
}

func (g *soakGenerator) linkDelay() soakEvent {
	return happens("link_delay", append([]string{
		g.lasts(), "latency = " + g.delay(time.Millisecond, 800*time.Millisecond), "jitter = " + g.delay(time.Millisecond, 400*time.Millisecond),
	}, g.ends()...)...)
}

func (g *soakGenerator) linkLoss() soakEvent {
	return happens("link_loss", append([]string{g.lasts(), "loss = " + g.between(0.02, 0.6)}, g.ends()...)...)
}

func (g *soakGenerator) slowDisk() soakEvent {
	return happens("slow_disk", g.lasts(), "longer = "+g.delay(time.Millisecond, 400*time.Millisecond))
}

func (g *soakGenerator) slowApply() soakEvent {
	return happens("slow_apply", g.lasts(), "longer = "+g.delay(time.Millisecond, 200*time.Millisecond), "servers = ["+g.server()+"]")
}

func (g *soakGenerator) crashWorkers() soakEvent {
	return happens("crash_workers", fmt.Sprintf("evals = %d", 1+g.rand.IntN(3)))
}

func (g *soakGenerator) stickApplier() soakEvent { return happens("stick_applier", g.lasts()) }

func (g *soakGenerator) skewClocks() soakEvent {
	return happens("skew_clocks", g.lasts(), "clients = "+g.between(0.1, 1), "rate = "+g.between(0.1, 3))
}

func (g *soakGenerator) stopClients() soakEvent {
	switch g.rand.IntN(5) {
	case 0:
		return happens("stop_clients", fmt.Sprintf("group = %q", g.group()))
	case 1, 2:
		return happens("stop_clients", "fraction = "+g.between(0.05, 0.3))
	}
	return happens("stop_clients", "fraction = "+g.between(0.05, 0.3), g.lasts())
}

func (g *soakGenerator) resumeClients() soakEvent {
	if g.chance(1, 2) {
		return happens("resume_clients", fmt.Sprintf("group = %q", g.group()))
	}
	return happens("resume_clients")
}

func (g *soakGenerator) flapClients() soakEvent {
	return happens("flap_clients", "fraction = "+g.between(0.05, 0.5), "down = "+g.delay(time.Second, time.Minute),
		"up = "+g.delay(time.Second, time.Minute), fmt.Sprintf("times = %d", 1+g.rand.IntN(4)))
}

// behaviour lets clients do something by themselves until shortly before everything heals.
func (g *soakGenerator) behaviour() soakEvent {
	g.behaviours++
	name := fmt.Sprintf("behaviour%d", g.behaviours)
	mean := g.delay(5*time.Second, 90*time.Second)
	draw := g.pick("%s", "uniform(\"1s\", %s)", "exponential(%s)", "normal(%s, \"10s\")")
	wait := fmt.Sprintf(draw, mean)
	if strings.HasPrefix(draw, "uniform") {
		wait = fmt.Sprintf(draw, g.delay(20*time.Second, 90*time.Second))
	}
	lines, leave := []string{"every = " + wait}, false
	kind := g.pick("flap", "flap", "stop", "churn", "fingerprint")
	switch kind {
	case "flap":
		lines = []string{"up = " + wait, "down = exponential(" + g.delay(2*time.Second, time.Minute) + ")"}
	case "stop":
		lines, leave = []string{"after = uniform(\"0s\", \"1m\")"}, g.chance(1, 2)
	}
	lines = append(lines, "share = "+g.between(0.05, 0.4))
	if g.chance(1, 3) {
		lines = append(lines, fmt.Sprintf("group = %q", g.group()))
	}
	if g.chance(1, 3) {
		lines = append(lines, "together = \"rack\"")
	}
	e := happens("begin", fmt.Sprintf("behaviour = %q", name))
	e.behaviour = fmt.Sprintf("behaviour %q %q {\n  %s\n}\n\n", kind, name, strings.Join(lines, "\n  "))
	e.end = fmt.Sprintf("  event \"end\" {\n    at = %s\n    behaviour = %q\n    leave = %t\n  }\n\n", g.delay(3*time.Minute, 5*time.Minute), name, leave)
	return e
}

func (g *soakGenerator) nodeEvents() soakEvent {
	return happens("node_events", "fraction = "+g.between(0.05, 1), fmt.Sprintf("events = %d", 1+g.rand.IntN(12)))
}

func (g *soakGenerator) pick(of ...string) string { return of[g.rand.IntN(len(of))] }

func (g *soakGenerator) group() string { return g.pick(g.groups...) }

// jobFor draws one of the jobs that do for an event; false if none does.
func (g *soakGenerator) jobFor(does func(soakJob) bool) (soakJob, bool) {
	fit := slices.DeleteFunc(slices.Clone(g.jobs), func(j soakJob) bool { return !does(j) })
	if len(fit) == 0 {
		return soakJob{}, false
	}
	return fit[g.rand.IntN(len(fit))], true
}

func anyJob(soakJob) bool { return true }

func ofJob(word string, j soakJob, lines ...string) soakEvent {
	return happens(word, slices.Concat([]string{fmt.Sprintf("job = %q", j.name)}, lines)...)
}

func (g *soakGenerator) updateJob() soakEvent {
	j, _ := g.jobFor(anyJob)
	var lines []string
	if g.chance(1, 2) {
		lines = append(lines, "copies = 1")
	}
	if j.count > 0 && g.chance(1, 3) {
		lines = append(lines, fmt.Sprintf("count = %d", g.rand.IntN(2*j.count)))
	}
	return ofJob("update_job", j, lines...)
}

// scaleJob scales jobs that do not deploy: the others may be refused.
func (g *soakGenerator) scaleJob() soakEvent {
	j, ok := g.jobFor(func(j soakJob) bool { return j.count > 0 && !j.deploys && !j.periodic })
	if !ok {
		return g.updateJob()
	}
	return ofJob("scale_job", j, "copies = 1", fmt.Sprintf("count = %d", g.rand.IntN(2*j.count)))
}

func (g *soakGenerator) stopJob() soakEvent {
	j, _ := g.jobFor(anyJob)
	return ofJob("stop_job", j, "copies = 1", fmt.Sprintf("purge = %t", g.chance(1, 4)))
}

// registerJobs submits a job as it was in the beginning: it may have changed, or stopped.
func (g *soakGenerator) registerJobs() soakEvent {
	j, _ := g.jobFor(anyJob)
	return happens("register_jobs", fmt.Sprintf("jobs = [%q]", j.name))
}

func (g *soakGenerator) failAllocs() soakEvent {
	j, ok := g.jobFor(func(j soakJob) bool { return !j.periodic && !(g.collects && j.kind == rpc.JobTypeSystem) })
	if !ok {
		return g.updateJob()
	}
	return ofJob("fail_allocs", j, "copies = 1", fmt.Sprintf("count = %d", []int{1, 10, 1 + g.rand.IntN(20)}[g.rand.IntN(3)]))
}

func (g *soakGenerator) launchJob() soakEvent {
	j, ok := g.jobFor(func(j soakJob) bool { return j.periodic })
	if !ok {
		return g.registerJobs()
	}
	return ofJob("launch_job", j, "copies = 1")
}

// someNodes is a line that says which nodes an operator means.
func (g *soakGenerator) someNodes() string {
	if g.chance(1, 4) {
		return fmt.Sprintf("group = %q", g.group())
	}
	return "fraction = " + g.between(0.05, 0.4)
}

func (g *soakGenerator) drainNodes() soakEvent {
	lines := []string{g.someNodes(), fmt.Sprintf("ignore_system_jobs = %t", g.chance(1, 3))}
	if g.chance(4, 5) {
		lines = append(lines, "deadline = "+g.delay(time.Second, 3*time.Minute))
	}
	return happens("drain_nodes", lines...)
}

func (g *soakGenerator) endDrains() soakEvent { return happens("end_drains", g.someNodes()) }

func (g *soakGenerator) eligibility() soakEvent {
	return happens("set_eligibility", g.someNodes(), fmt.Sprintf("eligible = %t", g.chance(1, 2)))
}

func (g *soakGenerator) schedulers() soakEvent {
	return happens("schedulers", fmt.Sprintf("per_server = %d", 1+g.rand.IntN(4)))
}

// pauseBroker is made up for at the end of every schedule.
func (g *soakGenerator) pauseBroker() soakEvent  { return happens("pause_eval_broker") }
func (g *soakGenerator) resumeBroker() soakEvent { return happens("resume_eval_broker") }

func (g *soakGenerator) collectGarbage() soakEvent {
	if !g.collects {
		return g.nodeEvents()
	}
	return happens("collect_garbage")
}
