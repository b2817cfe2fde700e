package language

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// FuzzDefine: whatever the text, the answer is a definition that keeps its promises, or an
// error that can be shown.
func FuzzDefine(f *testing.F) {
	for _, seed := range []string{whole, least, "", "title = \"x\"", "locals {\n a = [for x in [1,2] : x]\n}", "title = \"${1}\""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, src string) {
		def, err := define(src, nil)
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without a text")
			}
			return
		}
		if def.Cluster.Args == nil || def.Cost.Figures == nil || len(def.Phases) == 0 {
			t.Errorf("half a definition: %+v", def)
		}
		for _, g := range def.Fleet.Groups {
			if g.Nodes < 0 {
				t.Errorf("a group of %d nodes", g.Nodes)
			}
		}
		for _, p := range def.Phases {
			last := time.Duration(0)
			for _, e := range p.Events {
				if e.When < last || e.Args == nil {
					t.Errorf("event %+v after %v", e, last)
				}
				last = e.When
			}
		}
		formatted, err := Format("test.hcl", []byte(src))
		if err != nil {
			t.Fatalf("what was read cannot be formatted: %v", err)
		}
		if _, err := define(string(formatted), nil); err != nil {
			t.Errorf("formatted, it cannot be read: %v", err)
		}
	})
}

func TestDistributions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "a"))
		b := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "b"))
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		if got := (Distribution{"constant", a, 0}).Draw(r); got != a {
			t.Fatalf("constant %v drew %v", a, got)
		}
		if got := (Distribution{"uniform", a, a + b}).Draw(r); got < a || got > a+b || (b > 0 && got == a+b) {
			t.Fatalf("uniform over %v to %v drew %v", a, a+b, got)
		}
		for _, kind := range []string{"exponential", "normal"} {
			if got := (Distribution{kind, a, b}).Draw(r); got < 0 {
				t.Fatalf("%s drew %v", kind, got)
			}
		}
	})
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		d         Distribution
		mean, dev float64 // seconds
	}{
		{Distribution{"uniform", 10 * time.Second, 20 * time.Second}, 15, 10 / math.Sqrt(12)},
		{Distribution{"exponential", 10 * time.Second, 0}, 10, 10},
		{Distribution{"normal", 100 * time.Second, 10 * time.Second}, 100, 10},
	} {
		const n = 20_000
		sum, squares := 0.0, 0.0
		for range n {
			x := c.d.Draw(r).Seconds()
			sum, squares = sum+x, squares+x*x
		}
		mean := sum / n
		dev := math.Sqrt(squares/n - mean*mean)
		if math.Abs(mean-c.mean) > c.mean/20 || math.Abs(dev-c.dev) > c.dev/20 {
			t.Errorf("%+v: mean %.2f and deviation %.2f, want %.2f and %.2f", c.d, mean, dev, c.mean, c.dev)
		}
	}
	if d := (Distribution{"exponential", maxDuration, 0}).Draw(r); d+d < 0 {
		t.Error("two draws overflow")
	}
}
