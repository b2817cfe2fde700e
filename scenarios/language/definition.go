package language

import (
	"time"

	"github.com/hashicorp/hcl/v2"
)

// Range is a place in a file.
type Range = hcl.Range

// Definition is a scenario file in which every expression has its value.
type Definition struct {
	Title string // one line
	About string // any number of lines
	// Sources names what the scenario comes from: issues, posts.
	Sources []string
	// Example is a run for the documentation; nil = the file names none.
	Example *Example
	// Brokers are the brokers to compare by default.
	Brokers []Name

	Variables  []Variable `lang:"-"` // in the order of the file
	Cluster    Cluster
	Cost       Cost
	Fleet      Fleet       `lang:"required"`
	Jobs       []Job       `lang:"name=job"`
	Behaviours []Behaviour `lang:"name=behaviour"`
	Phases     []Phase     `lang:"name=phase,required"` // in the order in which they run
	Thresholds []Threshold `lang:"name=threshold"`

	file *File
}

// Name is a name and its place in the file.
type Name struct {
	Text string
	At   Range
}

// Example is a run of the scenario, for its documentation.
type Example struct {
	Variables map[string]string // those that do not have their default
	Chart     string            // the most telling chart, by the name of its file
	Reading   string            // how to read the chart and the table
}

// Cluster is the servers. Args is a filled copy of Vocabulary.Cluster.
type Cluster struct {
	Args any `lang:"keyed=cluster"`
	At   Range
}

// Cost is what work costs.
type Cost struct {
	Class string // empty = the file names none
	// Figures is the result of Vocabulary.Costs, with the figures of the file written over it.
	Figures any `lang:"keyed=cost"`
	// Said names the attributes that the block has.
	Said []string `lang:"said"`
	At   Range
}

// Fleet is the clients, group by group.
type Fleet struct {
	// ReportAllocations says whether clients report their allocations; nil leaves it to
	// the cost class.
	ReportAllocations *bool
	// Connections is how many connections to a server its clients share; zero: each has its own.
	Connections     int           `lang:"max=1000000"`
	RegisterStagger time.Duration `lang:"above"` // zero = the default of nodesim, as for the next four
	RegisterRetry   time.Duration `lang:"above"`
	FirstHeartbeat  time.Duration
	AllocSync       time.Duration `lang:"above"`
	WatchBlock      time.Duration `lang:"above"`
	StartDelay      Distribution  `lang:"even"`
	StopDelay       Distribution  `lang:"even"`
	RunFor          Distribution  `lang:"even"`
	Groups          []Group       `lang:"name=group"`
	At              Range
}

// Group is clients that are alike.
type Group struct {
	Name       string `lang:"label=group"`
	Nodes      int    `lang:"required,max=1000000000"`
	Datacenter string
	Class      string
	// Racks is the number of racks. Clients are assigned to them in turn. Zero means one rack.
	Racks      int `lang:"min=1"`
	Attributes map[string]string
	Resources  *Resources
	Latency    time.Duration // one way, on top of the cost class's link
	At         Range
}

// Resources is what a node offers or an allocation asks for.
type Resources struct {
	CPU    int // MHz
	Memory int // MB
	Disk   int // MB
}

// Job is a job, or several that differ in their ID only.
type Job struct {
	Name string `lang:"label=job"`
	// Spec is the path of a definition in Nomad's JSON; empty = none. What the block says beside
	// it counts instead of what the definition says.
	Spec     string
	Type     string `lang:"oneof=service|batch|system|sysbatch"` // required without Spec
	Priority int    `lang:"min=1,max=100"`
	// Copies makes that many jobs, NAME-000, NAME-001 and so on; nil is one job called NAME.
	Copies              *int
	Count               *int     `lang:"max=1000000"` // allocations; nil = 1
	Datacenters         []string // nil = every datacenter of the fleet
	Resources           *Resources
	MaxClientDisconnect *time.Duration
	MaxParallel         *int
	// Every makes the job periodic: it launches a copy of itself at every multiple of Every.
	// Zero is a job that runs itself. ProhibitOverlap skips a launch while a copy runs.
	Every           time.Duration
	ProhibitOverlap bool
	At              Range
}

// Behaviour is something clients do by themselves. Its kind is a word of
// Vocabulary.Behaviours.
type Behaviour struct {
	Kind string `lang:"label"`
	Name string `lang:"label=behaviour"`
	Args any    `lang:"keyed=behaviour"`
	At   Range
}

// Phase is one stretch of a run.
type Phase struct {
	Name string `lang:"label=phase"`
	// After names the phase that this one follows; empty = the one before it in the file.
	After   string        `lang:"ref=phase"`
	Events  []Event       `lang:"name=event"`
	Until   Until         `lang:"required"`
	Stall   time.Duration `lang:"above"`
	Timeout time.Duration `lang:"above"`
	At      Range
}

// Event is something done to cluster or fleet. Its keyword is a word of Vocabulary.Events.
type Event struct {
	Keyword string        `lang:"label"`
	When    time.Duration `lang:"name=at"` // from the phase's start
	// Times repeats the event, Every apart; zero is once.
	Times int
	Every time.Duration
	Args  any `lang:"keyed=event"`
	At    Range
}

// Until ends a phase. Its keyword is a word of Vocabulary.Conditions.
type Until struct {
	Keyword string `lang:"label"`
	Args    any    `lang:"keyed=condition"`
	At      Range
}

// Threshold is a demand on one metric.
type Threshold struct {
	Name       string   `lang:"label=threshold"`
	Metric     Name     `lang:"required"`
	Broker     Name     // empty = every broker
	Max        *float64 `lang:"any"`
	Min        *float64 `lang:"any"`
	MaxRatioOf Name     // a broker
	MaxRatio   *float64 // of that broker's value; nil = 1
	Tolerance  *float64 // as a share of the baseline's value
	At         Range
}

// Vocabulary gives the keywords of a file their structs to fill. The structs are copied, never
// written to, and hold the defaults.
type Vocabulary struct {
	Cluster any // pointer to a struct
	// Costs returns a pointer to the figures of a class of machines, over which the figures of
	// the file are written. An empty class is the default.
	Costs func(class string) (any, error)
	// By keyword: pointers to structs.
	Events     map[string]any
	Conditions map[string]any
	Behaviours map[string]any
}

// Errorf returns an Error about a place in the definition's file.
func (d *Definition) Errorf(at Range, summary, format string, args ...any) error {
	return d.file.fail(hcl.Diagnostics{problem(at, summary, format, args...)})
}
