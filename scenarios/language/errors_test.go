package language

import (
	"fmt"
	"strings"
	"testing"
)

// least is a file with nothing wrong; each case below puts something wrong into it.
const least = `title = "least"
variable "nodes" {
  type    = "integer"
  default = 5
}
fleet {
  group "all" {
    nodes = var.nodes
  }
}
phase "only" {
  until "recovered" {}
}
`

// doubling returns forty local values, each of which has the one before it twice.
func doubling(format string) string {
	var b strings.Builder
	for i := range 40 {
		fmt.Fprintf(&b, "  a%d = %s\n", i+1, fmt.Sprintf(format, fmt.Sprintf("a%d", i)))
	}
	return b.String()
}

func TestLeast(t *testing.T) {
	for _, src := range []string{least, least + "job \"a\" {\n  type = \"batch\"\n  count = max([for n in [1, var.nodes] : n]...)\n}\n"} {
		if _, err := define(src, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// TestErrors: every error names the file and the line, shows the line, and says what is
// wrong and, for a misspelt word, what was probably meant.
func TestErrors(t *testing.T) {
	phase := func(body string) string {
		return strings.Replace(least, `  until "recovered" {}`, body, 1)
	}
	and := func(more string) string { return least + more }
	fleet := func(more string) string { return strings.Replace(least, "fleet {\n", "fleet {\n  "+more+"\n", 1) }
	for _, c := range []struct {
		src  string
		line int
		want []string
	}{
		{"title = ", 1, []string{"Missing expression"}},
		{"titel = \"x\"\nfleet {}\n", 1, []string{"title", "required"}},
		{and("flet {}\n"), 14, []string{"flet {}", `Did you mean "fleet"?`}},
		{and("varable \"x\" {}\n"), 14, []string{`Did you mean "variable"?`}},
		{and("custer {\n}\n"), 14, []string{`Did you mean "cluster"?`}},
		{and("cluster {\n  server = 3\n}\n"), 15, []string{"server = 3", `Did you mean "servers"?`}},
		{and("cluster {\n  servers = 99\n}\n"), 15, []string{"servers is 99; it must be from 1 to 15"}},
		{and("cluster {\n  servers = 0\n}\n"), 15, []string{"servers is 0; it must be from 1 to 15"}},
		{and("cluster {}\ncluster {}\n"), 15, []string{"second cluster"}},
		{and("cost {\n  class = \"publisht\"\n}\n"), 15, []string{`there is no class "publisht"`}},
		{and("cost {\n  rpc {\n    srve = \"1ms\"\n  }\n}\n"), 16, []string{`Did you mean "serve"?`}},
		{and("cost {\n  fsync = 5\n}\n"), 15, []string{"must be a duration in quotes"}},
		{and("cost {\n  fsync = \"-5s\"\n}\n"), 15, []string{"negative"}},
		{and("cost {\n  fsync = \"999999h\"\n}\n"), 15, []string{"ten years"}},
		{and("job \"a\" {\n  type = \"servce\"\n}\n"), 15, []string{`Did you mean "service"?`}},
		{and("job \"a\" {\n  type = \"batch\"\n  count = -3\n}\n"), 16, []string{"count is -3; it must be from 0 to 1000000"}},
		{and("job \"a\" {\n  type = \"batch\"\n  count = 1.5\n}\n"), 16, []string{"count is 1.5; it must be a whole number"}},
		{and("job \"a\" {\n  type = \"batch\"\n  count = \"x\"\n}\n"), 16, []string{"count must be a number"}},
		{and("job \"a\" {\n  type = \"batch\"\n  count = 1e400\n}\n"), 16, []string{"too large"}},
		{and("job \"a\" {\n  type = \"batch\"\n  datacenters = \"dc1\"\n}\n"), 16, []string{`must be a list, such as ["one", "two"]`}},
		{and("job \"a\" {\n  type = \"batch\"\n}\njob \"a\" {\n  type = \"batch\"\n}\n"), 17, []string{`another job called "a"`}},
		{and("job \"a b\" {\n  type = \"batch\"\n}\n"), 14, []string{"no spaces"}},
		{and("job {\n  type = \"batch\"\n}\n"), 14, []string{"Missing name"}},
		{and("behaviour \"flip\" \"x\" {\n}\n"), 14, []string{`Did you mean "flap"?`}},
		{and("behaviour \"flap\" \"x\" {\n  up = 5\n}\n"), 15, []string{`exponential("10m")`}},
		{fleet("start_delay = \"1s\"\n  run_for = exponential(\"5s\")"), 8, []string{"run_for is exponential; it must be a duration such as \"90s\", or uniform("}},
		{fleet("run_for = 5"), 7, []string{"run_for must be a duration such as \"90s\", or uniform("}},
		{and("behaviour \"flap\" \"x\" {\n  up = uniform(\"5s\", \"1s\")\n}\n"), 15, []string{"below the least"}},
		{and("behaviour \"flap\" \"x\" {\n  up = uniform(\"5s\")\n}\n"), 15, []string{"Not enough function arguments"}},
		{and("behaviour \"flap\" \"x\" {\n  share = 2\n}\n"), 15, []string{"share is 2; it must be from 0 to 1"}},
		{and("behaviour \"flap\" \"x\" {\n  group = \"al\"\n}\n"), 15, []string{"Unknown group", `Did you mean "all"?`}},
		{phase("  until \"recoverd\" {}"), 12, []string{"Unknown condition", `Did you mean "recovered"?`}},
		{phase("  event \"stop_clients\" {\n    fraction = 1\n  }"), 11, []string{"no until here"}},
		{phase("  until \"recovered\" {}\n  event \"stop_client\" {}"), 13, []string{`Did you mean "stop_clients"?`}},
		{phase("  until \"recovered\" {}\n  event \"stop_clients\" {}"), 13, []string{"no fraction here"}},
		{phase("  until \"recovered\" {}\n  event \"stop_clients\" {\n    fraction = 0.5\n    gruop = \"all\"\n  }"), 15, []string{`Did you mean "group"?`}},
		{phase("  until \"recovered\" {}\n  event \"begin\" {\n    behaviour = \"x\"\n  }"), 14, []string{"Unknown behaviour"}},
		{phase("  until \"recovered\" {}\n  event \"begin\" {\n    times = 3\n behaviour = \"b\"\n  }\n}\nbehaviour \"flap\" \"b\" {"), 13, []string{"how far apart"}},
		{phase("  until \"recovered\" {}\n  event \"partition\" {\n    servers = [0.5]\n  }"), 14, []string{"whole number"}},
		{phase("  after = \"only\"\n  until \"recovered\" {}"), 11, []string{"Cycle of phases", "only after only"}},
		{and("phase \"b\" {\n  after = \"c\"\n  until \"recovered\" {}\n}\nphase \"c\" {\n  after = \"b\"\n  until \"recovered\" {}\n}\n"), 14, []string{"b after c after b"}},
		{and("phase \"b\" {\n  after = \"onyl\"\n  until \"recovered\" {}\n}\n"), 15, []string{`Did you mean "only"?`}},
		{and("locals {\n  a = local.b\n  b = local.a\n}\n"), 16, []string{"Cycle", "local.a"}},
		{and("locals {\n  a0 = \"x\"\n" + doubling(`"${local.%[1]s}${local.%[1]s}"`) + "}\n"), 35, []string{"Too large", "The characters and elements of local.a20 are more than 1048576: leave some out"}},
		{and("locals {\n  a0 = \"x\"\n" + doubling("[local.%[1]s, local.%[1]s]") + "}\n"), 34, []string{"Too large"}},
		{and("locals {\n  a = var.nods\n}\n"), 15, []string{`There is no "var.nods". Did you mean "var.nodes"?`}},
		{and("locals {\n  size = 5\n}\njob \"a\" {\n  type = \"batch\"\n  count = 2 * local.sizes\n}\n"), 19, []string{`Did you mean "local.size"?`}},
		{and("job \"a\" {\n  type = batch\n}\n"), 15, []string{"There is no batch here: a text stands in quotes"}},
		{and("locals {\n  a = 0 / 0\n}\n"), 15, []string{"0 / 0"}},
		{and("threshold \"t\" {\n  max = 5\n}\n"), 14, []string{"no metric here"}},
		{and("variable \"x\" {\n  type = \"int\"\n  default = 1\n}\n"), 15, []string{`Did you mean "integer"?`}},
		{and("variable \"x\" {\n  type = \"integer\"\n  default = 1.5\n}\n"), 16, []string{"whole number"}},
		{and("variable \"x\" {\n  type = \"integer\"\n}\n"), 14, []string{"default", "required"}},
		{and("variable \"x\" {\n  type = \"integer\"\n  default = 3\n  one_of = [3, 5]\n}\n"), 14, []string{"x is of type integer", "one_of", "validation"}},
		{and("variable \"x\" {\n  type = \"number\"\n  default = null\n  one_of = [\"0.5\"]\n}\n"), 14, []string{"x is of type number"}},
		{and("variable \"x\" {\n  type = \"bool\"\n  default = true\n  one_of = [\"true\"]\n}\n"), 14, []string{"x is of type bool"}},
		{and("variable \"x\" {\n  type = \"string\"\n  default = null\n  one_of = []\n}\n"), 14, []string{"one_of is empty"}},
		{and("variable \"x\" {\n  type = \"string\"\n  default = \"a\"\n  max = 5\n}\n"), 14, []string{"x is of type string", "min and max"}},
		{and("variable \"x\" {\n  type = \"bool\"\n  default = true\n  min = 0\n}\n"), 14, []string{"x is of type bool"}},
		{and("variable \"x\" {\n  type = \"duration\"\n  default = \"5s\"\n  min = 1\n}\n"), 14, []string{"x is of type duration"}},
		{and("variable \"x\" {\n  type = \"number\"\n  default = null\n  min = 5\n  max = 2.5\n}\n"), 14, []string{"min is 5 and max is 2.5", "swap"}},
		{and("variable \"x\" {\n  type = \"duration\"\n  default = \"5s\"\n  one_of = [\"1s\"]\n}\n"), 16, []string{"did you mean", "1s"}},
		{and("variable \"x-ray!\" {\n  type = \"integer\"\n  default = 1\n}\n"), 14, []string{"letters, digits"}},
		{and("variable \"nodes\" {\n  type = \"integer\"\n  default = 1\n}\n"), 14, []string{"another variable"}},
		{and("variable \"x\" {\n  type = \"bool\"\n  default = true\n  validation {\n    condition = 5\n    error_message = \"no\"\n  }\n}\n"), 18, []string{"true or false"}},
	} {
		_, err := define(c.src, nil)
		if _, ok := err.(*Error); !ok {
			t.Errorf("error %v, want an *Error with %q for\n%s", err, c.want, c.src)
			continue
		}
		for _, part := range append(c.want, fmt.Sprintf("on test.hcl line %d", c.line)) {
			if !strings.Contains(strings.Join(strings.Fields(err.Error()), " "), part) {
				t.Errorf("error\n%v\ndoes not say %q", err, part)
			}
		}
		if line := strings.Split(c.src, "\n")[c.line-1]; !strings.Contains(err.Error(), strings.TrimSpace(line)) {
			t.Errorf("error\n%v\ndoes not show the line %q", err, line)
		}
	}
}

// TestLocalsOnce: what is wrong with a local value is not wrong once more with those that need it.
func TestLocalsOnce(t *testing.T) {
	for _, locals := range []string{"a = local.b\n  b = local.a", "a = local.b\n  b = local.c\n  c = local.b", "a = local.b\n  b = var.nods"} {
		_, err := define(least+"locals {\n  "+locals+"\n}\n", nil)
		if e, ok := err.(*Error); !ok || len(e.Problems()) != 1 {
			t.Errorf("error %v, want an *Error with one problem for\n%s", err, locals)
		}
	}
}

func TestSuggest(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"legasy", "legacy"}, {"leg", "legacy"}, {"LEGACY", "legacy"}, {"legacy", ""}, {"xyz", ""}, {"", ""}, {"r", ""},
	} {
		if got := Suggest(c.name, []string{"legacy", "shedding", "p"}); got != c.want {
			t.Errorf("Suggest(%q) = %q, want %q", c.name, got, c.want)
		}
	}
}

func TestDidYouMean(t *testing.T) {
	names := []string{"legacy", "shedding"}
	for _, c := range []struct{ given, want string }{
		{"legasy", `; did you mean "legacy"?`},
		{"Shedding", `; did you mean "shedding"?`},
		{"shed", `; did you mean "shedding"?`},
		{"heap", ""},
		{"legacy", ""},
		{"", ""},
	} {
		if got := DidYouMean(c.given, names); got != c.want {
			t.Errorf("DidYouMean(%q) = %q, want %q", c.given, got, c.want)
		}
	}
}
