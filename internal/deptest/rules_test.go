package deptest

import (
	"slices"
	"strings"
)

const module = "github.com/simctl/simctl"

// layer says what one part of the tree may import from the rest. A part is a folder and
// everything below it, except what a longer name in the table covers; "" is the module's
// root. Standard library packages are always allowed, third-party modules only where the
// table names them.
type layer struct {
	part string
	// own lists the parts of this module that it may import besides itself.
	own []string
	// modules lists the third-party import paths, as prefixes, that it may import.
	modules []string
	reason  string
}

// layers are the rules of all parts.
var layers = slices.Concat(products, aids)

// products are the parts that make simctl.
var products = []layer{
	{
		part: "broker", own: []string{"internal/heap", "internal/uuid"},
		reason: "the broker is a pure state machine that anybody can lift out and test alone",
	},
	{
		part: "broker/workqueue", own: []string{"broker"},
		reason: "a queue of jobs is as pure as the broker that it wraps",
	},
	{
		part: "broker/explore", own: []string{"broker", "broker/workqueue", "internal/interleave"},
		reason: "the explorer tries orders of operations on the broker alone",
	},
	{
		part: "metrics", own: []string{"internal/infile", "internal/outfile"}, modules: []string{"github.com/HdrHistogram/hdrhistogram-go"},
		reason: "a Result must be readable wherever its file is, without the simulator",
	},
	{
		part: "metrics/agreement", own: []string{"metrics"},
		reason: "how far runs agree is worked out from their Results, whoever made and whoever shows them",
	},
	{
		part:   "cluster/rpc",
		reason: "fleet and cluster meet in this leaf, so each can be built and tested without the other",
	},
	{
		part: "cluster/state", own: []string{"broker", "cluster/rpc"},
		modules: []string{"github.com/hashicorp/go-msgpack/v2", "github.com/tidwall/btree"},
		reason:  "the store holds what Raft agreed on; it neither schedules nor talks",
	},
	{
		part: "cluster/scheduler", own: []string{"broker", "cluster/rpc", "cluster/state", "internal/uuid"},
		reason: "a scheduler turns a snapshot into a plan and does nothing else",
	},
	{
		part: "cluster/simnet", modules: []string{"github.com/hashicorp/raft"},
		reason: "the network carries messages and knows nothing of what they say",
	},
	{
		part:   "cluster/internal/cpu",
		reason: "cores are shared among tasks, whatever they are",
	},
	{
		part: "cluster/internal/config", own: []string{"broker", "cluster/scheduler", "cluster/simnet", "cluster/state"}, // schedulers' habits by release are their own type
		reason: "settings and costs are data that every part of the cluster reads",
	},
	{
		part: "cluster/internal/identity", own: []string{"cluster/rpc"},
		reason: "who may call is decided by what the caller carries and the time, whoever asks",
	},
	{
		part: "cluster/internal/fsm", own: []string{"broker", "cluster/rpc", "cluster/state", "cluster/internal/config"},
		modules: []string{"github.com/hashicorp/raft", "github.com/hashicorp/go-msgpack/v2"},
		reason:  "the state machine is a function of a state and an entry; it knows no server",
	},
	{
		part: "cluster/internal/raftnode", own: []string{"cluster/simnet", "cluster/internal/config", "cluster/internal/fsm"},
		modules: []string{"github.com/hashicorp/raft", "github.com/hashicorp/raft-boltdb/v2", "github.com/hashicorp/go-hclog", "github.com/klauspost/compress/zstd"},
		reason:  "agreement on the log does not depend on what entries say",
	},
	{
		part: "cluster/internal/leader", own: []string{
			"broker", "broker/workqueue", "cluster/rpc", "cluster/state", "cluster/scheduler", "cluster/simnet", "cluster/internal/config", "cluster/internal/fsm",
			"internal/heap",
		},
		reason: "the leader's parts see their server through an interface of five methods",
	},
	{
		part: "cluster/internal/server", own: []string{
			"broker", "cluster/rpc", "cluster/state", "cluster/scheduler", "cluster/simnet", "cluster/internal/config", "cluster/internal/cpu",
			"cluster/internal/fsm", "cluster/internal/identity", "cluster/internal/leader", "cluster/internal/raftnode", "internal/uuid",
		},
		modules: []string{"github.com/hashicorp/raft"},
		reason:  "a server is one process; it knows its peers by their addresses",
	},
	{
		part: "cluster", own: []string{
			"broker", "cluster/rpc", "cluster/scheduler", "cluster/state", "cluster/simnet", "cluster/internal/config", "cluster/internal/cpu",
			"cluster/internal/fsm", "cluster/internal/leader", "cluster/internal/raftnode", "cluster/internal/server", "internal/pacer",
		},
		reason: "servers are the same whoever drives them: clients, scenarios and reports are above",
	},
	{
		part: "cluster/streams", own: []string{
			"broker", "cluster", "cluster/rpc", "cluster/scheduler", "cluster/simnet", "cluster/state", "cluster/internal/cpu",
			"cluster/internal/fsm", "cluster/internal/leader", "cluster/internal/server", "internal/uuid",
		},
		modules: []string{"github.com/nats-io/nats-server/v2", "github.com/nats-io/nats.go"},
		reason:  "servers without a leader are the only part that has a NATS server in it, and the program does not contain them",
	},
	{
		part: "cluster/planless", own: []string{"internal/heap"},
		reason: "designs without a central planner are compared without a cluster, on a clock of their own",
	},
	{
		part: "internal/planlessdocs", own: []string{"cluster/planless", "internal/madeby", "reports/figure", "reports/wording"},
		reason: "the page of designs without a central planner is made of their outcomes",
	},
	{
		part: "internal/madeby", own: []string{"metrics", "reports/chart", "reports/figure"},
		reason: "what pages made of Results share; it knows no page",
	},
	{
		part: "internal/streamruns", own: []string{"broker", "cluster", "cluster/streams", "scenarios", "metrics", "internal/madeby", "reports/wording"},
		reason: "servers without a leader are run, and reported, the way any user runs and reports others",
	},
	{
		part: "cluster/explore", own: []string{
			"broker", "cluster/rpc", "cluster/state", "cluster/scheduler", "cluster/internal/config", "cluster/internal/fsm", "cluster/internal/leader", "internal/interleave",
		},
		reason: "the explorer tries orders of steps of what has neither goroutines nor a clock; it starts no server",
	},
	{
		part: "cluster/apitypes", own: []string{"broker", "cluster/rpc", "cluster/state"}, modules: []string{"github.com/hashicorp/nomad/api"},
		reason: "the types of Nomad's API are shapes of rows; whoever sends them, and how, is above",
	},
	{
		part: "cluster/clientrpc", own: []string{"cluster", "cluster/apitypes", "cluster/rpc", "cluster/state", "internal/nomadrpc"},
		modules: []string{"github.com/hashicorp/nomad/api"},
		reason:  "clients of other processes call the servers as those of this one do, whoever they are",
	},
	{
		part:    "cluster/httpapi",
		own:     []string{"broker", "cluster", "cluster/apitypes", "cluster/rpc", "cluster/scheduler", "cluster/state"},
		modules: []string{"github.com/hashicorp/nomad/api", "github.com/hashicorp/go-bexpr"},
		reason:  "Nomad's HTTP API of a cluster is the same whatever drives the cluster and its clients",
	},
	{
		part: "cluster/telemetry", own: []string{"broker", "cluster"},
		modules: []string{"github.com/hashicorp/go-metrics", "github.com/prometheus/client_golang"},
		reason:  "Nomad's names of a cluster's figures do not depend on who asks for them",
	},
	{
		part: "nodesim", own: []string{"cluster/rpc", "internal/heap", "internal/uuid"},
		reason: "the fleet must run against any servers that speak the protocol, real Nomad's included",
	},
	{
		part: "nodesim/remote", own: []string{"cluster/rpc", "nodesim", "internal/nomadrpc", "internal/nomadtls", "internal/uuid"}, modules: []string{"golang.org/x/mod/semver"},
		reason: "servers in other processes are reached by Nomad's protocol alone",
	},
	{
		part: "scenarios/designs", own: []string{"broker", "cluster"},
		reason: "a design is a change of a cluster's configuration under a name, whoever runs it",
	},
	{
		part: "scenarios/language", modules: []string{"github.com/hashicorp/hcl/v2", "github.com/zclconf/go-cty", "github.com/agext/levenshtein"},
		reason: "reading a file must not depend on what runs it, so that a fuzzer and an editor can",
	},
	{
		part:   "scenarios/internal/words",
		reason: "a registry of keywords knows nothing of what they mean",
	},
	{
		part:   "scenarios/internal/draw",
		reason: "pieces of scenario files are text, whoever reads them",
	},
	{
		part:   "scenarios/internal/scale",
		reason: "durations are multiplied wherever they are",
	},
	{
		part:   "scenarios/internal/english",
		reason: "numbers of things are worded the same whatever the things are",
	},
	{
		part: "scenarios/internal/bubble", own: []string{"internal/rusage", "internal/standstill", "scenarios/internal/garbage"},
		reason: "the bubble runs a function on virtual time, whatever that does",
	},
	{
		part: "scenarios/internal/garbage", own: []string{"internal/rusage"},
		reason: "a process collects its garbage, whatever it is the garbage of",
	},
	{
		part: "scenarios/internal/behaviours", own: []string{"internal/heap", "nodesim", "scenarios/language", "scenarios/internal/words", "scenarios/internal/draw"},
		reason: "what clients do by themselves needs their fleet alone",
	},
	{
		part: "scenarios/internal/actions",
		own: []string{
			"cluster", "cluster/rpc", "cluster/state", "nodesim", "scenarios/internal/behaviours", "scenarios/internal/words", "scenarios/internal/draw",
			"scenarios/internal/english",
		},
		reason: "an action drives cluster and fleet, and knows neither the scenario that it is part of nor who judges",
	},
	{
		part: "scenarios/internal/actions/faults", own: []string{"cluster", "cluster/rpc", "scenarios/internal/actions", "scenarios/internal/draw", "scenarios/internal/english", "scenarios/internal/behaviours"},
		reason: "an action does not depend on actions of another kind",
	},
	{
		part: "scenarios/internal/actions/clients", own: []string{"cluster/rpc", "scenarios/internal/actions", "scenarios/internal/behaviours", "scenarios/internal/draw", "scenarios/internal/english"},
		reason: "an action does not depend on actions of another kind",
	},
	{
		part:   "scenarios/internal/actions/operations",
		own:    []string{"broker", "cluster/rpc", "scenarios/language", "scenarios/internal/actions", "scenarios/internal/behaviours", "scenarios/internal/draw", "scenarios/internal/english"},
		reason: "an action does not depend on actions of another kind",
	},
	{
		part: "scenarios/internal/conditions", own: []string{"cluster", "cluster/rpc", "nodesim", "scenarios/internal/words", "scenarios/internal/english"},
		reason: "a condition looks at samples and changes nothing",
	},
	{
		part: "scenarios/internal/judge", own: []string{"broker", "cluster", "cluster/rpc", "cluster/state", "metrics", "internal/uuid", "scenarios/internal/english"},
		reason: "who judges a run must not depend on what drove it",
	},
	{
		part:    "scenarios/internal/realcluster",
		own:     []string{"broker", "cluster", "cluster/rpc", "nodesim/remote", "internal/filelock", "internal/nomadtls", "internal/outfile", "internal/pacer", "internal/redact"},
		modules: []string{"github.com/hashicorp/nomad/api", "golang.org/x/mod/semver"},
		reason:  "a real cluster is what its API and its metrics say, whoever started the servers and whatever runs there",
	},
	{
		part: "scenarios/internal/agenda", own: []string{"cluster/rpc", "scenarios/internal/actions", "scenarios/internal/scale"},
		reason: "what comes next depends on when things are due, not on what they do",
	},
	{
		part: "scenarios/internal/run",
		own: []string{
			"scenarios/internal/agenda",
			"broker", "cluster", "cluster/rpc", "cluster/state", "nodesim", "metrics", "internal/rusage",
			"scenarios/internal/actions", "scenarios/internal/behaviours", "scenarios/internal/conditions", "scenarios/internal/judge",
			"scenarios/internal/scale", "scenarios/internal/bubble",
		},
		reason: "a run takes a scenario as data: it reads no files and starts no processes",
	},
	{
		part: "scenarios/internal/process", own: []string{"internal/rusage", "metrics", "scenarios/internal/garbage", "scenarios/internal/run"}, modules: []string{"golang.org/x/sync"},
		reason: "a child process is handed text; what that says is for the caller to know",
	},
	{
		part: "scenarios",
		own: []string{
			"broker", "internal/infile", "cluster", "cluster/apitypes", "cluster/rpc", "nodesim", "metrics", "scenarios/designs", "scenarios/language",
			"scenarios/internal/actions", "scenarios/internal/actions/faults", "scenarios/internal/actions/clients", "scenarios/internal/actions/operations",
			"scenarios/internal/behaviours", "scenarios/internal/conditions", "scenarios/internal/garbage", "scenarios/internal/run", "scenarios/internal/process", "scenarios/internal/scale", "scenarios/internal/english",
			"scenarios/internal/realcluster", "internal/nomadproc", "internal/nomadtls", "nodesim/remote", "internal/redact",
		},
		modules: []string{"github.com/hashicorp/nomad/api", "golang.org/x/mod/semver"},
		reason:  "a Spec is compiled to what runs and judges it; how results look is none of its business",
	},
	{
		part: "scenarios/soak",
		own: []string{
			"cluster/rpc", "metrics", "scenarios", "scenarios/language", "scenarios/internal/actions", "scenarios/internal/actions/operations",
			"scenarios/internal/draw", "scenarios/internal/judge",
		},
		reason: "a schedule is text until it is run as any Spec is",
	},
	{
		part: "scenarios/serve",
		own: []string{
			"cluster", "cluster/clientrpc", "cluster/httpapi", "cluster/rpc", "cluster/telemetry", "internal/filelock", "internal/infile", "internal/nomadrpc", "internal/nomadtls", "internal/outfile", "internal/redact",
			"nodesim", "scenarios", "scenarios/internal/scale",
			"scenarios/internal/actions", "scenarios/internal/agenda", "scenarios/internal/behaviours", "scenarios/internal/run", "scenarios/language",
		},
		modules: []string{"github.com/hashicorp/nomad/api"},
		reason:  "a cluster that is served has no scenario: users of its listeners decide what happens, in the words of one",
	},
	{
		part: "scenarios/calibrate", own: []string{"metrics", "metrics/agreement", "scenarios"},
		reason: "costs are fitted by running Specs and looking at Results; who shows the fit is above",
	},
	{
		part: "scenarios/closedform", own: []string{"broker", "cluster", "cluster/rpc", "metrics", "scenarios"},
		reason: "formulae need the settings of a run and what work costs, and run nothing",
	},
	{
		part: "scenarios/forecast", own: []string{"broker", "metrics", "scenarios", "scenarios/closedform", "scenarios/language"},
		reason: "what a run will cost follows from its Spec and from how runs went",
	},
	{
		part: "scenarios/record", own: []string{"cluster/apitypes", "cluster/rpc", "internal/redact", "scenarios/language", "scenarios/internal/english"}, modules: []string{"github.com/hashicorp/nomad/api"},
		reason: "a recording is text, made of what a real cluster's API says; whoever runs it knows the rest",
	},
	{
		part: "scenarios/sweep", own: []string{"broker", "metrics", "scenarios", "scenarios/forecast", "scenarios/language", "scenarios/internal/english"},
		modules: []string{"golang.org/x/sync"},
		reason:  "a sweep runs Specs wherever they may run; it starts no cluster itself, and draws nothing",
	},
	{
		part: "scenarios/sweep/nomad", own: []string{"metrics", "scenarios", "scenarios/forecast", "scenarios/sweep", "internal/redact"},
		modules: []string{"github.com/hashicorp/nomad/api", "github.com/hashicorp/hcl/v2", "github.com/zclconf/go-cty"},
		reason:  "a Nomad cluster is one place among others where a sweep's runs go; the sweep knows none of them",
	},
	{
		part: "scenarios/nodes", own: []string{"internal/rusage", "nodesim", "nodesim/remote", "scenarios", "scenarios/internal/behaviours", "scenarios/internal/english"},
		reason: "clients for servers elsewhere need no cluster of ours",
	},
	{
		part: "reports", own: []string{"internal/outfile", "metrics", "metrics/agreement", "reports/wording", "reports/figure", "reports/sweep", "reports/chart", "reports/page"},
		modules: []string{"github.com/olekukonko/tablewriter"},
		reason:  "every report must be made from Result files alone; its rooms are below it, and none reaches up",
	},
	{
		part: "reports/wording", own: []string{"metrics"},
		modules: []string{"github.com/dustin/go-humanize"},
		reason:  "how runs and figures read must be the same on a terminal, in a chart and on a page",
	},
	{
		part: "reports/figure", own: []string{"internal/outfile", "reports/wording"},
		modules: []string{
			"gonum.org/v1/plot", "git.sr.ht/~sbinet/gg", "codeberg.org/go-fonts/liberation", "golang.org/x/image", "golang.org/x/sync/errgroup",
		},
		reason: "a drawing shows what its figure holds and knows of no run",
	},
	{
		part: "reports/sweep", own: []string{"metrics", "reports/figure", "reports/wording"},
		modules: []string{"gonum.org/v1/gonum"},
		reason:  "what a sweep found is worked out and drawn from its Results alone",
	},
	{
		part: "reports/chart", own: []string{"metrics", "reports/figure", "reports/sweep", "reports/wording"},
		reason: "a chart turns Results into a figure; where that is shown is none of its business",
	},
	{
		part: "reports/page", own: []string{"metrics", "reports/chart", "reports/figure", "reports/sweep", "reports/wording"},
		reason: "a page shows the figures and words of the rooms below and writes no files",
	},
	{
		part: "cmd", own: []string{"internal/infile", "internal/nomadtls", "internal/outfile", "internal/redact", "nodesim/remote", "scenarios", "scenarios/nodes", "scenarios/calibrate", "scenarios/closedform", "scenarios/designs", "scenarios/forecast", "scenarios/language", "scenarios/record", "scenarios/soak", "scenarios/sweep", "scenarios/sweep/nomad", "reports", "metrics", "metrics/agreement", "broker", "broker/explore", "scenarios/serve", "internal/nomadproc"},
		modules: []string{
			"github.com/spf13/cobra", "github.com/spf13/pflag", "github.com/vbauerster/mpb/v8",
			"github.com/mattn/go-isatty", "github.com/dustin/go-humanize", "github.com/mitchellh/go-wordwrap",
		},
		reason: "a command maps flags to a scenario and results to a report; logic lives below",
	},
}

// under reports whether path is root itself or lies below it.
func under(path, root string) bool {
	return path == root || strings.HasPrefix(path, root+"/")
}
