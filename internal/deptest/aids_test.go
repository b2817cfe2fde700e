package deptest

// aids are the parts that others share, whatever they do, and those that make documents and check the project.
var aids = []layer{
	{
		part: "internal/scenariodocs", own: []string{"scenarios", "reports", "internal/madeby", "metrics"},
		reason: "the pages of the catalogue are made the way any user makes a report, of one chart",
	},
	{
		part: "internal/validationdocs", own: []string{"internal/madeby", "scenarios", "reports", "reports/chart", "reports/figure", "reports/wording", "metrics", "metrics/agreement"},
		reason: "the page of validation is made the way simctl validate makes a report",
	},
	{
		part: "internal/realfindings", own: []string{"internal/nomadproc", "internal/nomadrpc", "internal/uuid"}, modules: []string{"github.com/hashicorp/nomad/api", "golang.org/x/sync/errgroup"},
		reason: "real servers are tried without anything that is simulated",
	},
	{
		part: "internal/designdocs", own: []string{"internal/madeby", "scenarios/designs", "reports/figure", "reports/wording", "metrics"},
		reason: "the comparison of designs is made of Results, whoever ran them",
	},
	{
		part: "internal/docsite", modules: []string{"github.com/yuin/goldmark"},
		reason: "the site is made of documents, whatever they are about, and no library for it comes into the program",
	},
	{
		part: "internal/bom", modules: []string{"golang.org/x/mod"},
		reason: "what the program is made of is asked of the Go tool and of binaries",
	},
	{
		part: "internal/mutants", modules: []string{"golang.org/x/sync/errgroup"},
		reason: "bugs are planted in packages as text, whatever they are",
	},
	{
		part:   "internal/shaken",
		reason: "the runtime is changed, whatever runs on it",
	},
	{
		part:   "internal/daemon",
		reason: "processes that go on are started and ended in the same way, whatever they do",
	},
	{
		part:   "internal/filelock",
		reason: "one process at a time does a thing, whatever it is",
	},
	{
		part:   "internal/redact",
		reason: "what nobody should read is the same in every text",
	},
	{
		part: "internal/nomadproc", own: []string{"internal/daemon", "internal/filelock", "internal/outfile", "internal/rusage"}, modules: []string{"github.com/hashicorp/nomad/api"},
		reason: "servers are processes, whatever is done with them",
	},
	{
		part:   "internal/nomadtls",
		reason: "certificates are files and names, whoever is at the ends",
	},
	{
		part: "internal/nomadrpc", modules: []string{"github.com/hashicorp/go-msgpack/v2", "github.com/hashicorp/yamux"},
		reason: "a protocol is spoken the same whoever is at its ends, a fleet or a simulated cluster",
	},
	{
		part:   "internal/heap",
		reason: "a heap orders elements, whatever they are",
	},
	{
		part:   "internal/pacer",
		reason: "how often to ask depends on how long answers take, whatever they are",
	},
	{
		part:   "internal/interleave",
		reason: "every history of a system is searched the same way, whatever its steps are",
	},
	{
		part:   "internal/outfile",
		reason: "a file appears whole or not at all, whatever is in it",
	},
	{
		part:   "internal/infile",
		reason: "how long a file may be does not depend on what is in it",
	},
	{
		part:    "internal/rusage",
		modules: []string{"github.com/prometheus/procfs", "golang.org/x/sys"},
		reason:  "what a process costs is asked by benchmarks and runs alike",
	},
	{
		part:   "internal/testbrowser",
		reason: "a browser opens any page",
	},
	{
		part:   "internal/testcerts",
		reason: "tests of both ends of a connection need certificates of one authority",
	},
	{
		part:   "internal/standstill",
		reason: "who watches a bubble needs nothing of what runs in it",
	},
	{
		part:   "internal/nightly",
		reason: "tests of every part have the same night",
	},
	{
		part: "internal/walltest", modules: []string{"go.uber.org/goleak"},
		reason: "tests of every part wait side by side in the same way",
	},
	{
		part: "internal/virtualtest", own: []string{"internal/rusage", "internal/standstill"},
		reason: "tests of every part are bounded in the same way",
	},
	{
		part:   "internal/uuid",
		reason: "every part writes IDs the same way, from its own source of random bits",
	},
	{
		part:   "internal/deptest",
		reason: "the judge of imports has none",
	},
}
