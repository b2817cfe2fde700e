package planless

import (
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// small are parameters whose simulation takes little.
func small() Params {
	p := Default(60)
	p.Racks, p.Count, p.Flapping, p.Fill = 6, 6, 8*time.Minute, 0.5
	return p
}

// TestRules runs every design under parameters by lot: none breaks a rule, all that has room is
// placed where room is plenty, and nothing is lost from sight.
func TestRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := small()
		p.Seed = rapid.Uint64().Draw(t, "seed")
		p.Nodes = rapid.IntRange(1, 60).Draw(t, "nodes")
		p.Racks = rapid.IntRange(1, 10).Draw(t, "racks")
		p.Count = rapid.IntRange(1, 10).Draw(t, "count")
		p.Fill = rapid.Float64Range(0.05, 1.2).Draw(t, "fill")
		p.Share = rapid.Float64Range(0, 1).Draw(t, "share")
		p.Exit = rapid.Float64Range(0, 1).Draw(t, "exit")
		p.Schedulers = rapid.IntRange(1, 5).Draw(t, "schedulers")
		p.Flapping = 4 * time.Minute
		p.Up, p.Down = Span{5 * time.Second, time.Minute}, Span{time.Second, time.Minute}
		d := rapid.SampledFrom(Designs).Draw(t, "design")
		out, err := Run(p, d.New)
		if err != nil {
			t.Fatalf("%s: %v", d.Name, err)
		}
		for _, q := range []Quality{out.Filled, out.Flapped, out.Emptied} {
			if q.Running+q.Waiting != out.Allocs || q.InUse > 1 || q.Together > 1 || q.Rack > 1.000001 {
				t.Fatalf("%s: %+v of %d allocations", d.Name, q, out.Allocs)
			}
		}
		if out.Placements-out.Lost < out.Emptied.Running {
			t.Fatalf("%s: %d placements less %d lost, but %d run", d.Name, out.Placements, out.Lost, out.Emptied.Running)
		}
		if p.Fill <= 0.2 && p.Nodes >= 20 && out.Flapped.Waiting > 0 {
			t.Fatalf("%s: %d wait although most room is free", d.Name, out.Flapped.Waiting)
		}
	})
}

// TestRepeats: equal parameters give equal outcomes, and other seeds others.
func TestRepeats(t *testing.T) {
	for _, d := range Designs {
		p := small()
		a, err := Run(p, d.New)
		if err != nil {
			t.Fatalf("%s: %v", d.Name, err)
		}
		if b, _ := Run(p, d.New); !reflect.DeepEqual(a, b) {
			t.Errorf("%s: two runs differ: %+v and %+v", d.Name, a.Counts, b.Counts)
		}
		p.Seed++
		if b, _ := Run(p, d.New); reflect.DeepEqual(a, b) {
			t.Errorf("%s: another seed changes nothing", d.Name)
		}
	}
}

// TestSameFleet: nodes come and go alike for all designs, so that their figures can be compared.
func TestSameFleet(t *testing.T) {
	type change struct {
		at   time.Duration
		node int
		left bool
	}
	var first []change
	for _, d := range Designs {
		var seen []change
		_, err := Run(small(), func(w *World) Design {
			return spy{d.New(w), func(n *Node, left bool) {
				seen = append(seen, change{w.Now.Truncate(time.Millisecond * 10), n.ID, left})
			}}
		})
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = seen
		}
		if len(seen) < 100 || len(seen) != len(first) {
			t.Errorf("%s: %d changes of nodes, want the %d of the first", d.Name, len(seen), len(first))
		}
	}
}

// TestDefault holds the parameters to the files that they are from.
func TestDefault(t *testing.T) {
	for file, parts := range map[string][]string{
		"../../scenarios/catalogue/flapping.hcl": {
			"default     = 20\n", "default     = 0.25\n", `up       = uniform("2m", "6m")`, `down     = uniform("30s", "90s")`, `for = "30m"`,
		},
		"../../scenarios/calibration/published.hcl": {`latency = "0.25ms"`, `jitter  = "0.1ms"`, `per_scored     = "30us"`},
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range parts {
			if !strings.Contains(string(text), part) {
				t.Errorf("%s has no %q any more: Default says that it does", file, part)
			}
		}
	}
	p := Default(5000)
	if p.TTL != 100*time.Second || Default(100).TTL != 10*time.Second || p.Racks != 20 || p.Share != 0.25 || p.Flapping != 30*time.Minute ||
		p.Up != (Span{2 * time.Minute, 6 * time.Minute}) || p.Down != (Span{30 * time.Second, 90 * time.Second}) ||
		p.Hop != (Span{250 * time.Microsecond, 350 * time.Microsecond}) || p.Look != 30*time.Microsecond {
		t.Errorf("%+v", p)
	}
}

// TestFreed: what found no room is placed when a node comes that has some, whenever that is.
func TestFreed(t *testing.T) {
	for _, d := range Designs {
		for seed := range uint64(20) {
			p := small()
			p.Seed, p.Nodes, p.Racks, p.Count, p.Share, p.Exit, p.Fill = seed, 20, 1, 1, 1, 0, 0.1
			if out, err := Run(p, d.New); err != nil || out.Flapped.Waiting > 0 {
				t.Errorf("%s, seed %d: %v, %d wait although all nodes are back", d.Name, seed, err, out.Flapped.Waiting)
			}
		}
	}
}

type spy struct {
	Design
	see func(n *Node, left bool)
}

func (s spy) Joined(n *Node) { s.see(n, false); s.Design.Joined(n) }
func (s spy) Left(n *Node)   { s.see(n, true); s.Design.Left(n) }

// TestCosts holds each design to what it is for.
func TestCosts(t *testing.T) {
	outs := map[string]*Outcome{}
	for _, d := range Designs {
		out, err := Run(small(), d.New)
		if err != nil {
			t.Fatalf("%s: %v", d.Name, err)
		}
		if out.Flapped.Waiting > 0 {
			t.Errorf("%s: %d allocations wait when all nodes are back", d.Name, out.Flapped.Waiting)
		}
		outs[d.Name] = out
	}
	for name, out := range outs {
		log, local := name == "central" || name == "omega", name == "auction"
		if (out.LogWrites > 0) != log || (out.LocalWrites > 0) != local {
			t.Errorf("%s: %d writes to a log, %d to nodes' disks", name, out.LogWrites, out.LocalWrites)
		}
	}
	if a, c := outs["auction"], outs["central"]; a.Messages < 10*c.Messages || a.Flapped.Together > c.Flapped.Together {
		t.Errorf("an auction asks everybody and spreads: %d messages, central %d; together %v, central %v", a.Messages, c.Messages, a.Flapped.Together, c.Flapped.Together)
	}
	if c := outs["central"]; c.Filled.InUse >= outs["sparrow"].Filled.InUse {
		t.Errorf("central uses %v of the nodes, sparrow %v: bin packing packs nothing", c.Filled.InUse, outs["sparrow"].Filled.InUse)
	}
}

// cheat places without looking.
type cheat struct {
	w   *World
	how string
}

func (c cheat) Joined(*Node) {}
func (c cheat) Left(*Node)   {}
func (c cheat) Want(allocs []*Alloc) {
	n := c.w.Nodes[0]
	for _, a := range allocs {
		switch c.how {
		case "over its capacity":
			c.w.place(n, a)
		case "placed already true":
			c.w.place(c.w.Nodes[a.ID%2], a)
			c.w.place(c.w.Nodes[2], a)
		case "down true":
			n.Down = true
			c.w.place(n, a)
		case "is away":
			n.away = true
			c.w.Accept(n, a)
		}
	}
}

// TestRulesAreHeld: a design that breaks a rule is found out.
func TestRulesAreHeld(t *testing.T) {
	for _, how := range []string{"over its capacity", "placed already true", "down true", "is away"} {
		if _, err := Run(small(), func(w *World) Design { return cheat{w, how} }); err == nil || !strings.Contains(err.Error(), how) {
			t.Errorf("%v, want %q", err, how)
		}
	}
}

// TestLateBinding: Sparrow gives an allocation to one node of those that it probed.
func TestLateBinding(t *testing.T) {
	p := small()
	p.Share, p.Exit = 0, 0
	out, err := Run(p, newSparrow)
	if err != nil || out.Placements != out.Allocs || out.Conflicts < out.Allocs/2 {
		t.Errorf("%v: %d placements of %d allocations, %d turns in vain of %d probes", err, out.Placements, out.Allocs, out.Conflicts, probeRatio*out.Allocs)
	}
}

// TestOneSchedulerHasNoConflicts: on a fleet that stays, only the others can take a node away.
func TestOneSchedulerHasNoConflicts(t *testing.T) {
	p := small()
	p.Share, p.Exit, p.Schedulers = 0, 0, 1
	for _, d := range Designs[:3] {
		out, err := Run(p, d.New)
		if err != nil || out.Conflicts != 0 {
			t.Errorf("%s: %v, %d conflicts", d.Name, err, out.Conflicts)
		}
	}
	p.Schedulers, p.Commit = 4, 500*time.Millisecond
	if out, err := Run(p, newOmega); err != nil || out.Conflicts == 0 {
		t.Errorf("omega: %v, %d conflicts of four schedulers with slow commits", err, out.Conflicts)
	}
}
