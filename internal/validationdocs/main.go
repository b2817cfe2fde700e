// A run must repeat from its seed: see cmd/simctl.
//
//go:debug randseednop=0

// Command validationdocs writes the page that holds the simulation against published figures and
// against runs on real servers. make validate runs it.
//
// It must not import the cluster or its parts.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/simctl/simctl/scenarios"
)

func main() {
	scenarios.ServeIfChild()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := errors.New("usage: validationdocs DATA DIRECTORY")
	if len(os.Args) == 3 {
		err = write(ctx, os.Args[1], os.Args[2])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "validationdocs:", err)
		os.Exit(1)
	}
}

// seeds is how many simulations each figure is the median of.
const seeds = 3

// write writes the page and its pictures.
func write(ctx context.Context, data, dir string) error {
	claims, err := readClaims(filepath.Join(data, "published.json"))
	if err != nil {
		return err
	}
	// Runs on the wall clock come first: whoever keeps the machine quiet for them need not do so for long.
	fmt.Fprintln(os.Stderr, "Two clocks")
	clocks := &page{}
	if err := clocks.clocks(ctx); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, machines[0].heading)
	all, err := groups(ctx, data)
	if err != nil {
		return err
	}
	why, err := text(data)
	if err != nil {
		return err
	}
	page := &page{}
	page.begin()
	page.score(all, why)
	page.published()
	for _, c := range claims {
		fmt.Fprintln(os.Stderr, c.Title)
		runs, err := scenarios.RunAll(ctx, c.specs(), nil)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Title, err)
		}
		if err := page.claim(c, runs); err != nil {
			return fmt.Errorf("%s: %w", c.Title, err)
		}
	}
	page.others()
	if err := page.real(all, data, dir); err != nil {
		return err
	}
	page.Write(clocks.Bytes())
	return os.WriteFile(filepath.Join(dir, "README.md"), page.Bytes(), 0o644)
}

// repeats returns a spec under several seeds.
func repeats(spec scenarios.Spec) []scenarios.Spec {
	var all []scenarios.Spec
	for i := range int64(seeds) {
		spec.Seed = i + 1
		all = append(all, spec)
	}
	return all
}
