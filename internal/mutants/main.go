//go:build unix

// Command mutants plants bugs in a package, one at a time, and says which of them no test
// notices. make mutants runs it.
//
// All mutants of a package are compiled into it at once, through an overlay: an environment
// variable says which of them runs, and the tree is never written. A run of every test
// without a mutant notes which mutants it reaches, and at which of them it would matter. A
// mutant is then tried with the tests that reach it alone, the quick ones first.
//
// It must not import other packages of the module.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// dependents are the tests of other packages that are tried if a package's own notice nothing,
// and if they depend on it.
var dependents = []struct{ pkg, only string }{
	{"cluster/internal/leader", ""},
	{"cluster/internal/server", ""},
	{"cluster", ""},
	{"scenarios/internal/judge", ""},
	{"scenarios", "^TestDigests$"},
}

type options struct {
	pkg, at, out, known string
	sample, jobs        int
	seed                uint64
	within              time.Duration
	without             string
}

func main() {
	var o options
	flag.StringVar(&o.pkg, "pkg", "./broker", "the package")
	flag.IntVar(&o.sample, "sample", 200, "how many mutants to try, drawn at random; 0 for all")
	flag.Uint64Var(&o.seed, "seed", 1, "of the draw, and of the tests that draw")
	flag.StringVar(&o.at, "at", "", "try mutants at places that match this regular expression only, such as broker.go:120$")
	flag.DurationVar(&o.within, "within", 0, "begin no mutant after so much time; 0 for no limit")
	flag.IntVar(&o.jobs, "jobs", 2, "how many mutants to try at a time")
	flag.StringVar(&o.without, "without", "^$", "a regular expression of packages whose tests are not to be run, though they depend on this one; . for all")
	flag.StringVar(&o.known, "known", "docs/testing.md", "a file with the rows of survivors that are equivalent")
	flag.StringVar(&o.out, "out", "results", "the directory of the table")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	known, err := os.ReadFile(o.known)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	scratch, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	pkg, err := list(o.pkg)
	if err != nil {
		return err
	}
	mutants, err := plant(pkg, scratch)
	if err != nil {
		return err
	}
	tests, err := prepare(ctx, pkg, o, scratch, mutants[len(mutants)-1].id)
	if err != nil {
		return err
	}
	chosen, err := choose(mutants, o)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%s: %d mutants of %d, %d tests\n", pkg.ImportPath, len(chosen), len(mutants), len(tests))
	verdicts, err := tryAll(ctx, chosen, tests, o, scratch)
	if err != nil {
		return err
	}
	rel, err := filepath.Rel(pkg.Module.Dir, pkg.Dir)
	if err != nil {
		return err
	}
	command := fmt.Sprintf("make mutants PKG=./%s MUTANTS=%d SEED=%d", rel, o.sample, o.seed)
	text := report(rel, command, pkg.Module.Dir, verdicts, string(known))
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return err
	}
	file := filepath.Join(o.out, "mutants-"+strings.ReplaceAll(rel, "/", "-")+".md")
	fmt.Println(text + "\n" + file)
	return os.WriteFile(file, []byte(text), 0o644)
}

// choose draws the mutants to try.
func choose(mutants []*mutant, o options) ([]*mutant, error) {
	at, err := regexp.Compile(o.at)
	if err != nil {
		return nil, fmt.Errorf("-at: %w", err)
	}
	chosen := slices.DeleteFunc(slices.Clone(mutants), func(m *mutant) bool {
		return !at.MatchString(fmt.Sprintf("%s:%d", m.file, m.line))
	})
	rand.New(rand.NewPCG(o.seed, 0)).Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
	if o.sample > 0 && len(chosen) > o.sample {
		chosen = chosen[:o.sample]
	}
	return chosen, nil
}

// prepare builds the tests and runs them once, in the order in which mutants meet them.
func prepare(ctx context.Context, pkg *listed, o options, scratch string, mutants int) ([]*test, error) {
	type of struct{ pkg, only string }
	from := []of{{pkg.ImportPath, ""}}
	without, err := regexp.Compile(o.without)
	if err != nil {
		return nil, fmt.Errorf("-without: %w", err)
	}
	for _, d := range dependents {
		if without.MatchString(d.pkg) {
			continue
		}
		d.pkg = pkg.Module.Path + "/" + d.pkg
		variants, err := goList("-test", d.pkg)
		if err != nil {
			return nil, err
		}
		if d.pkg != pkg.ImportPath && slices.ContainsFunc(variants, func(l *listed) bool { return slices.Contains(l.Deps, pkg.ImportPath) }) {
			from = append(from, of(d))
		}
	}
	var tests []*test
	for _, f := range from {
		b, err := build(scratch, f.pkg, f.only, o.seed)
		if err != nil {
			return nil, err
		}
		more, err := b.tests(ctx, scratch, mutants)
		if err != nil {
			return nil, err
		}
		slices.SortStableFunc(more, func(a, b *test) int { return cmp.Compare(a.took, b.took) })
		tests = append(tests, more...)
	}
	return tests, nil
}

// tryAll tries the mutants, some at a time.
func tryAll(ctx context.Context, chosen []*mutant, tests []*test, o options, scratch string) ([]verdict, error) {
	started := time.Now()
	verdicts := make([]verdict, len(chosen))
	var group errgroup.Group
	group.SetLimit(o.jobs)
	for i, m := range chosen {
		group.Go(func() error {
			if o.within > 0 && time.Since(started) > o.within {
				return nil
			}
			v, err := try(ctx, m, tests, scratch)
			if err != nil {
				return err
			}
			verdicts[i] = v
			fmt.Fprintf(os.Stderr, "%d/%d %s:%d %s: %s\n", i+1, len(chosen), filepath.Base(m.file), m.line, m.rule, cmp.Or(v.killer, "SURVIVED"))
			return nil
		})
	}
	err := group.Wait()
	return slices.DeleteFunc(verdicts, func(v verdict) bool { return v.mutant == nil }), err
}
