package deptest

// ban forbids imports that no layer rule can express.
type ban struct {
	// path is an import path; a trailing "/..." includes everything below it.
	path string
	// exceptPaths and exceptParts list import paths, and parts of this module, that are exempt.
	exceptPaths, exceptParts []string
	// tests reports whether the ban also binds test files.
	tests  bool
	reason string
}

var bans = []ban{
	{
		path: "testing/...", exceptParts: []string{"scenarios/internal/bubble", "internal/virtualtest", "internal/walltest"},
		reason: "the program depends on package testing in one place only, the synctest bubble; virtualtest and walltest are for tests",
	},
	{
		path: "github.com/hashicorp/nomad/...", exceptPaths: []string{"github.com/hashicorp/nomad/api"}, tests: true,
		reason: "Nomad's main module is under the BUSL now; its api module is MPL-2.0",
	},
	{
		path: module + "/internal/deptest", tests: true,
		reason: "there is nothing to import",
	},
	{
		path: module + "/cmd/...", exceptParts: []string{"cmd"}, tests: true,
		reason: "nothing depends on a command",
	},
	{
		path:        "syscall",
		exceptParts: []string{"cmd", "internal/daemon", "internal/filelock", "internal/mutants", "internal/rusage", "nodesim/remote", "scenarios/internal/garbage", "scenarios/internal/process", "scenarios/serve"},
		reason:      "systems differ, and CI looks at the packages that depend on them; the others take signals and errors that every system has",
	},
	{
		path:   "log",
		reason: "the standard logger is global and writes to stderr, which belongs to the progress display",
	},
}

// vagueNames are folder names that say nothing about what is inside.
var vagueNames = []string{"util", "utils", "common", "helpers", "misc", "structs", "shared", "base"}
