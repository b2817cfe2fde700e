package scenarios

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/simctl/simctl/broker"
)

// Clocks a run can be on.
const (
	ClockVirtual = "virtual"
	ClockWall    = "wall"
)

// Spec is one run. It is JSON-able: a child process is handed one.
type Spec struct {
	Scenario string `json:"scenario"` // a name of Names
	Broker   string `json:"broker"`   // a name of broker.PolicyNames
	Seed     int64  `json:"seed"`
	Clock    string `json:"clock"` // ClockVirtual or ClockWall; empty = ClockVirtual
	// Cost is a class of machines, a name of CostNames or the path of a file that describes
	// one; empty = DefaultCost.
	Cost   string `json:"cost"`
	Params Params `json:"params"`
}

// Params are the knobs of the built-in scenarios. DefaultParams gives the defaults; a zero
// is a value like any other.
type Params struct {
	Nodes         int     `json:"nodes"`
	SystemJobs    int     `json:"system_jobs"`
	ServiceJobs   int     `json:"service_jobs"`
	AllocsPerNode float64 `json:"allocs_per_node"` // allocations of service jobs, on average
	Servers       int     `json:"servers"`
	Schedulers    int     `json:"schedulers"` // num_schedulers of each server, once they are on
	Fraction      float64 `json:"fraction"`   // share of the clients that stop
	// ReportAllocs says whether clients report their allocations; nil leaves it to the cost
	// class.
	ReportAllocs *bool `json:"report_allocations,omitempty"`
	// TimeScale multiplies every duration of cluster and fleet but Raft's own, on the wall
	// clock only: 0.02 runs fifty times as fast. Zero means 1.
	TimeScale float64 `json:"time_scale,omitempty"`
	Tuning
}

// DefaultParams returns the published benchmark's: 3 servers with 2 cores and so 2
// schedulers each, 10 system jobs, 5,000 clients that all stop.
func DefaultParams() Params {
	return Params{Nodes: 5000, SystemJobs: 10, Servers: 3, Schedulers: 2, Fraction: 1}
}

// Bounds of what a run accepts.
const (
	maxNodes         = 1_000_000
	maxJobs          = 10_000
	maxServers       = 15 // as many as the log writer keeps apart (cluster, handOver)
	maxSchedulers    = 1024
	maxAllocsPerNode = 10_000
)

// InputError is a Spec that cannot be run because of one of its values.
type InputError struct {
	Flag    string // the command line flag the value belongs to, without dashes
	Value   string
	Allowed string // what would be accepted
}

func (e *InputError) Error() string {
	return fmt.Sprintf("--%s %s: %s", e.Flag, strconv.Quote(e.Value), e.Allowed)
}

// Validate returns an *InputError for the first value that cannot be run; it reads the
// cost file, if one is named.
func (s Spec) Validate() error {
	_, err := s.scenario()
	return err
}

// scenario works out what the Spec stands for.
func (s Spec) scenario() (*Scenario, error) {
	entry, ok := catalogue[s.Scenario]
	if !ok {
		return nil, &InputError{"scenario", s.Scenario, "it must be one of " + strings.Join(Names(), ", ")}
	}
	policy, err := broker.PolicyByName(s.Broker)
	if err != nil {
		return nil, &InputError{"broker", s.Broker, "it must be one of " + strings.Join(broker.PolicyNames(), ", ")}
	}
	if err := s.Params.validate(); err != nil {
		return nil, err
	}
	scale := 1.0
	switch s.Clock {
	case ClockVirtual, "":
		if s.Params.TimeScale != 0 && s.Params.TimeScale != 1 {
			return nil, &InputError{"time-scale", formatFloat(s.Params.TimeScale), "virtual time needs no scaling: leave it out or use --clock wall"}
		}
	case ClockWall:
		if s.Params.TimeScale != 0 {
			scale = s.Params.TimeScale
		}
	default:
		return nil, &InputError{"clock", s.Clock, "it must be virtual or wall"}
	}
	cost, err := LoadCost(s.Cost)
	if err != nil {
		return nil, err
	}
	sc := entry.build(s.Params, cost)
	sc.Name, sc.Title, sc.cost = s.Scenario, entry.title, cost
	sc.Cluster.Policy, sc.Cluster.Seed, sc.Fleet.Seed = policy, s.Seed, s.Seed
	// The release that brought load shedding also refuses the updates of nodes that are not
	// ready (1.4.3, #15068): the two are one profile.
	sc.Cluster.RefuseUpdateAllocNotReady = s.Broker != broker.Legacy().String()
	sc.Cluster.Costs = cost.Costs
	s.Params.Tuning.apply(&sc.Cluster)
	return sc.scaled(scale), nil
}

func (p Params) validate() error {
	for _, f := range []struct {
		flag  string
		value int
		least int
		most  int
	}{
		{"nodes", p.Nodes, 1, maxNodes},
		{"system-jobs", p.SystemJobs, 0, maxJobs},
		{"service-jobs", p.ServiceJobs, 0, maxJobs},
		{"servers", p.Servers, 1, maxServers},
		{"schedulers", p.Schedulers, 1, maxSchedulers},
	} {
		if f.value < f.least || f.value > f.most {
			return &InputError{f.flag, strconv.Itoa(f.value), fmt.Sprintf("it must be a whole number from %d to %d", f.least, f.most)}
		}
	}
	// Written so that a NaN is refused.
	switch {
	case !(p.Fraction >= 0 && p.Fraction <= 1):
		return &InputError{"fraction", formatFloat(p.Fraction), "it must be a number from 0 to 1"}
	case !(p.AllocsPerNode >= 0 && p.AllocsPerNode <= maxAllocsPerNode):
		return &InputError{"allocs-per-node", formatFloat(p.AllocsPerNode), fmt.Sprintf("it must be a number from 0 to %d", maxAllocsPerNode)}
	case !(p.TimeScale >= 0 && p.TimeScale <= 1000):
		return &InputError{"time-scale", formatFloat(p.TimeScale), "it must be a number above 0, up to 1000"}
	case p.SystemJobs+p.ServiceJobs == 0:
		return &InputError{"system-jobs", "0", "there must be at least one job: set it or --service-jobs"}
	case p.ServiceJobs > 0 && p.serviceCount() < 1:
		return &InputError{"allocs-per-node", formatFloat(p.AllocsPerNode),
			fmt.Sprintf("%d service jobs on %d nodes need at least one allocation each", p.ServiceJobs, p.Nodes)}
	case p.ServiceJobs == 0 && p.AllocsPerNode > 0:
		return &InputError{"allocs-per-node", formatFloat(p.AllocsPerNode), "allocations need a job: set --service-jobs, too"}
	}
	return p.Tuning.validate()
}

// serviceCount is the count of each service job.
func (p Params) serviceCount() int {
	return int(p.AllocsPerNode*float64(p.Nodes)/float64(p.ServiceJobs) + 0.5)
}

// CommandLine returns the command that repeats the run, less where its output goes.
func (s Spec) CommandLine() string {
	p, d := s.Params, DefaultParams()
	args := []string{"simctl scenario", s.Scenario, "--nodes", strconv.Itoa(p.Nodes)}
	add := func(differs bool, flag, value string) {
		if differs {
			args = append(args, "--"+flag, value)
		}
	}
	add(p.SystemJobs != d.SystemJobs, "system-jobs", strconv.Itoa(p.SystemJobs))
	add(p.ServiceJobs != d.ServiceJobs, "service-jobs", strconv.Itoa(p.ServiceJobs))
	add(p.AllocsPerNode != d.AllocsPerNode, "allocs-per-node", formatFloat(p.AllocsPerNode))
	add(p.Servers != d.Servers, "servers", strconv.Itoa(p.Servers))
	add(p.Schedulers != d.Schedulers, "schedulers", strconv.Itoa(p.Schedulers))
	add(p.Fraction != d.Fraction, "fraction", formatFloat(p.Fraction))
	if p.ReportAllocs != nil {
		args = append(args, "--report-allocations="+strconv.FormatBool(*p.ReportAllocs))
	}
	p.Tuning.flags(add)
	add(s.Clock == ClockWall, "clock", s.Clock)
	add(p.TimeScale != 0, "time-scale", formatFloat(p.TimeScale))
	add(s.Cost != "" && s.Cost != DefaultCost, "cost", quoted(s.Cost))
	args = append(args, "--broker", s.Broker, "--seed", strconv.FormatInt(s.Seed, 10))
	return strings.Join(args, " ")
}

// quoted quotes a word for a shell if it needs that.
func quoted(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+", r)
	}
	if word != "" && !slices.ContainsFunc([]rune(word), func(r rune) bool { return !plain(r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

func formatFloat(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
