package scenarios

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/simctl/simctl/scenarios/language"
)

// Schedule is a random scenario with faults, made from a seed alone: a small cluster, some
// jobs, and events that happen to them over a few minutes. The phase of the events ends when
// the cluster has settled, and every invariant must hold then.
type Schedule struct {
	Seed   int64
	events []soakEvent
	left   []int  // numbers of the events that were left out, from 1, ascending
	head   string // everything in front of the events
}

// soakEvent is one event of a schedule, as a scenario file says it.
type soakEvent struct {
	number int // from 1, in the order of time
	at     time.Duration
	word   string
	lines  []string
}

// NewSchedule makes the schedule of a seed: the same one every time.
func NewSchedule(seed int64) Schedule {
	g := &soakGenerator{rand: rand.New(rand.NewPCG(uint64(seed), 0x50a4))}
	s := Schedule{Seed: seed, head: g.head()}
	for range 2 + g.rand.IntN(6) {
		s.events = append(s.events, g.event())
	}
	slices.SortStableFunc(s.events, func(a, b soakEvent) int { return cmp.Compare(a.at, b.at) })
	for i := range s.events {
		s.events[i].number = i + 1
	}
	return s
}

// Events returns the number of events.
func (s Schedule) Events() int { return len(s.events) }

// Left returns the numbers of the events that were left out, ascending.
func (s Schedule) Left() []int { return slices.Clone(s.left) }

// Without returns the schedule without some of its events, by their numbers: 1 is the first
// that the seed made. Numbers it does not have are passed over.
func (s Schedule) Without(numbers ...int) Schedule {
	for i := 0; i < len(s.events); {
		if slices.Contains(numbers, s.events[i].number) {
			s = s.without(i)
			continue
		}
		i++
	}
	return s
}

// without leaves out the event at a place.
func (s Schedule) without(i int) Schedule {
	s.left = append(slices.Clone(s.left), s.events[i].number)
	slices.Sort(s.left)
	s.events = slices.Concat(s.events[:i], s.events[i+1:])
	return s
}

// Text returns the schedule as a scenario file.
func (s Schedule) Text() string {
	var b strings.Builder
	b.WriteString(s.head)
	b.WriteString("phase \"faults\" {\n")
	for _, e := range s.events {
		fmt.Fprintf(&b, "  # %d\n  event %q {\n    at = %q\n", e.number, e.word, e.at)
		for _, l := range e.lines {
			fmt.Fprintf(&b, "    %s\n", l)
		}
		b.WriteString("  }\n\n")
	}
	b.WriteString(soakEnd)
	text, err := language.Format(s.name(), []byte(b.String()))
	if err != nil {
		panic(fmt.Sprintf("the schedule of seed %d is no scenario file: %v", s.Seed, err)) // a bug of this file's
	}
	return string(text)
}

// soakEnd is how every schedule ends.
const soakEnd = `  event "heal" {
    at = "6m"
  }

  event "resume_eval_broker" {
    at = "6m1s"
  }

  until "settled" {}
}
`

// Spec is a run of the schedule.
func (s Schedule) Spec(broker string) Spec {
	return Spec{Scenario: fmt.Sprintf("soak-%d", s.Seed), File: s.name(), Source: s.Text(), Broker: broker, Seed: s.Seed}
}

func (s Schedule) name() string { return fmt.Sprintf("soak-%d.hcl", s.Seed) }

// soakGenerator draws what a schedule is made of.
type soakGenerator struct {
	rand    *rand.Rand
	servers int
	system  int
	service int
	count   int
}

func (g *soakGenerator) head() string {
	r := g.rand
	nodes := 5 + r.IntN(46)
	g.servers = []int{1, 3, 3, 3, 5}[r.IntN(5)]
	g.system, g.service = 1+r.IntN(3), 1+r.IntN(3)
	perNode := 1 + r.IntN(3)
	g.count = max(1, nodes*perNode/g.service)
	slots := g.system + 8*perNode + 4
	snapshots := ""
	if r.IntN(2) == 0 {
		snapshots = fmt.Sprintf("\n  raft {\n    snapshot_threshold = %d\n    trailing_logs      = %d\n  }\n", 20+r.IntN(100), 5+r.IntN(40))
	}
	report := r.IntN(2) == 0
	workers := 1 + r.IntN(3)
	return fmt.Sprintf(`title = "a random schedule of faults"

cluster {
  servers = %d
%s}

fleet {
  report_allocations = %t

  group "clients" {
    nodes = %d

    resources {
      cpu    = %d
      memory = %d
      disk   = %d
    }
  }
}

job "system" {
  type   = "system"
  copies = %d
}

job "service" {
  type   = "service"
  copies = %d
  count  = %d
}

phase "register" {
  event "register_jobs" {}
  event "start_clients" {}

  until "registered" {}
}

phase "drain" {
  event "schedulers" {
    per_server = %d
  }

  until "recovered" {}
}

`, g.servers, snapshots, report, nodes, slots*20, slots*32, slots*10, g.system, g.service, g.count, workers)
}

// soakWindow is when events happen, from the start of their phase.
const soakWindow = 2 * time.Minute

func (g *soakGenerator) event() soakEvent {
	kinds := []func() (string, []string){
		g.killServer, g.killServer, g.pauseServer, g.partition, g.partition, g.linkDelay, g.linkLoss, g.slowDisk, g.slowApply,
		g.skewClocks, g.stopClients, g.stopClients, g.flapClients, g.cutClients,
		g.updateJob, g.scaleJob, g.stopJob, g.schedulers, g.pauseBroker, g.eligibility, g.crashWorkers, g.stickApplier,
	}
	at := time.Duration(g.rand.Int64N(int64(soakWindow))).Truncate(time.Millisecond)
	word, lines := kinds[g.rand.IntN(len(kinds))]()
	return soakEvent{at: at, word: word, lines: lines}
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
	return fmt.Sprintf("%d", 1+g.rand.IntN(g.servers))
}

func (g *soakGenerator) between(from, to float64) string {
	return fmt.Sprintf("%.2f", from+g.rand.Float64()*(to-from))
}

func (g *soakGenerator) delay(from, to time.Duration) string {
	return fmt.Sprintf("%q", (from + time.Duration(g.rand.Int64N(int64(to-from)))).Truncate(time.Millisecond))
}

func (g *soakGenerator) killServer() (string, []string) {
	return "kill_server", []string{"server = " + g.server(), g.lasts()}
}

func (g *soakGenerator) pauseServer() (string, []string) {
	return "pause_server", []string{"server = " + g.server(), g.lasts()}
}

// ends are the ends of the links that a fault concerns; none for all links.
func (g *soakGenerator) ends() []string {
	lines := []string{}
	if g.rand.IntN(4) > 0 {
		lines = append(lines, "", "from {", "  servers = ["+g.server()+"]", "}", "")
	}
	return lines
}

func (g *soakGenerator) partition() (string, []string) {
	return "partition", append([]string{g.lasts(), fmt.Sprintf("one_way = %t", g.rand.IntN(3) == 0)}, g.ends()...)
}

func (g *soakGenerator) cutClients() (string, []string) {
	return "partition", []string{g.lasts(), "", "from {", "  clients = " + g.between(0.1, 1), "}"}
}

func (g *soakGenerator) linkDelay() (string, []string) {
	return "link_delay", append([]string{
		g.lasts(), "latency = " + g.delay(time.Millisecond, 800*time.Millisecond), "jitter = " + g.delay(time.Millisecond, 400*time.Millisecond),
	}, g.ends()...)
}

func (g *soakGenerator) linkLoss() (string, []string) {
	return "link_loss", append([]string{g.lasts(), "loss = " + g.between(0.02, 0.6)}, g.ends()...)
}

func (g *soakGenerator) slowDisk() (string, []string) {
	return "slow_disk", []string{g.lasts(), "longer = " + g.delay(time.Millisecond, 400*time.Millisecond)}
}

func (g *soakGenerator) slowApply() (string, []string) {
	return "slow_apply", []string{g.lasts(), "longer = " + g.delay(time.Millisecond, 200*time.Millisecond), "servers = [" + g.server() + "]"}
}

func (g *soakGenerator) skewClocks() (string, []string) {
	return "skew_clocks", []string{g.lasts(), "clients = " + g.between(0.1, 1), "rate = " + g.between(0.1, 3)}
}

func (g *soakGenerator) stopClients() (string, []string) {
	lines := []string{"fraction = " + g.between(0.05, 0.3)}
	if g.rand.IntN(2) == 0 {
		lines = append(lines, g.lasts())
	}
	return "stop_clients", lines
}

func (g *soakGenerator) flapClients() (string, []string) {
	return "flap_clients", []string{
		"fraction = " + g.between(0.05, 0.5), "down = " + g.delay(time.Second, 60*time.Second),
		"up = " + g.delay(time.Second, 60*time.Second), fmt.Sprintf("times = %d", 1+g.rand.IntN(4)),
	}
}

func (g *soakGenerator) updateJob() (string, []string) {
	return "update_job", []string{fmt.Sprintf("job = %q", []string{"system", "service"}[g.rand.IntN(2)]), "copies = 1"}
}

func (g *soakGenerator) scaleJob() (string, []string) {
	return "scale_job", []string{`job = "service"`, "copies = 1", fmt.Sprintf("count = %d", g.rand.IntN(2*g.count))}
}

func (g *soakGenerator) stopJob() (string, []string) {
	return "stop_job", []string{fmt.Sprintf("job = %q", []string{"system", "service"}[g.rand.IntN(2)]), "copies = 1"}
}

func (g *soakGenerator) schedulers() (string, []string) {
	return "schedulers", []string{fmt.Sprintf("per_server = %d", 1+g.rand.IntN(4))}
}

// pauseBroker is made up for at the end of every schedule.
func (g *soakGenerator) pauseBroker() (string, []string) { return "pause_eval_broker", nil }

func (g *soakGenerator) crashWorkers() (string, []string) {
	return "crash_workers", []string{fmt.Sprintf("evals = %d", 1+g.rand.IntN(3))}
}

func (g *soakGenerator) stickApplier() (string, []string) {
	return "stick_applier", []string{g.lasts()}
}

func (g *soakGenerator) eligibility() (string, []string) {
	return "set_eligibility", []string{"fraction = " + g.between(0.05, 0.4), fmt.Sprintf("eligible = %t", g.rand.IntN(2) == 0)}
}
