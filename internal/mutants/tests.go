//go:build unix

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// binary is the compiled tests of one package.
type binary struct {
	path, dir string
	only      string // a regular expression of the tests that count
	args      []string
}

// test is one test function and the mutants that it could notice.
type test struct {
	of      *binary
	name    string
	took    time.Duration // of a processor
	reaches []byte        // by mutant
}

// build compiles the tests of a package with the mutants in it.
func build(dir, name, only string, seed uint64) (*binary, error) {
	pkgs, err := goList(name)
	if err != nil {
		return nil, err
	}
	b := &binary{path: filepath.Join(dir, strings.ReplaceAll(pkgs[0].ImportPath, "/", "-")+".test"), dir: pkgs[0].Dir, only: only}
	if slices.Contains(slices.Concat(pkgs[0].TestImports, pkgs[0].XTestImports), "pgregory.net/rapid") {
		b.args = []string{"-rapid.nofailfile", "-rapid.seed=" + strconv.FormatUint(seed, 10)}
	}
	cmd := exec.Command("go", "test", "-c", "-vet=off", "-overlay", filepath.Join(dir, "overlay.json"), "-o", b.path, name)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%v: %w\n%s", cmd.Args, err, out)
	}
	return b, nil
}

// tests runs every test once without any mutant and notes which mutants it reaches. A test that
// fails without any could not tell what a mutant does.
func (b *binary) tests(ctx context.Context, scratch string, mutants int) ([]*test, error) {
	if _, err := os.Stat(b.path); errors.Is(err, os.ErrNotExist) {
		return nil, nil // no test files
	}
	out, err := b.command(ctx, time.Minute, "-test.list="+cmp.Or(b.only, ".")).Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.path, err)
	}
	var tests []*test
	for name := range strings.FieldsSeq(string(out)) {
		if !strings.HasPrefix(name, "Test") && !strings.HasPrefix(name, "Fuzz") && !strings.HasPrefix(name, "Example") {
			continue
		}
		reached := filepath.Join(scratch, "reached")
		if err := os.WriteFile(reached, make([]byte, mutants+1), 0o644); err != nil {
			return nil, err
		}
		t := &test{of: b, name: name}
		res := b.run(ctx, scratch, 10*time.Minute, []string{"MUTANTS_REACHED=" + reached}, name)
		if res.err != nil {
			return nil, fmt.Errorf("%s fails without a mutant: %w\n%s", name, res.err, res.out)
		}
		t.took = res.cpu
		if t.reaches, err = os.ReadFile(reached); err != nil {
			return nil, err
		}
		tests = append(tests, t)
	}
	return tests, nil
}

// memoryKiB is how much memory a test may map: a mutant that never stops to allocate must not
// take the machine down.
const memoryKiB = 8 << 20

// command runs the tests for at most so much processor time. The signal of the soft limit would not
// end a Go program. The hard limit is the same, and at that the kernel kills it.
func (b *binary) command(ctx context.Context, cpu time.Duration, args ...string) *exec.Cmd {
	limits := fmt.Sprintf(`ulimit -v %d; ulimit -t %d; exec "$0" "$@"`, memoryKiB, int(cpu.Seconds())+1)
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", limits, b.path}, args...)...)
	cmd.Dir = b.dir
	// A test's children end with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// result is what came of a run of tests.
type result struct {
	out      []byte
	err      error
	timedOut bool
	cpu      time.Duration
}

// run runs the named tests in a process of their own. The limit is of processor time, so that
// nothing depends on how busy the machine is; those that compute nothing have ten times as long.
func (b *binary) run(ctx context.Context, scratch string, limit time.Duration, env []string, names ...string) result {
	bounded, cancel := context.WithTimeout(ctx, 10*limit)
	defer cancel()
	cmd := b.command(bounded, limit, append([]string{"-test.failfast", "-test.timeout=0", "-test.run=^(" + strings.Join(names, "|") + ")$"}, b.args...)...)
	cmd.Env = append(append(os.Environ(), "TMPDIR="+scratch), env...)
	out, err := cmd.CombinedOutput()
	res := result{out: out, err: err}
	if p := cmd.ProcessState; p != nil {
		status, _ := p.Sys().(syscall.WaitStatus)
		res.timedOut = ctx.Err() == nil && status.Signaled() && status.Signal() == syscall.SIGKILL
		res.cpu = p.UserTime() + p.SystemTime()
	}
	return res
}

// verdict is what became of a mutant.
type verdict struct {
	*mutant
	reached  int // by so many tests
	killer   string
	timedOut bool
}

var failed = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)

// try runs the tests that reach the mutant, the quick ones first, until one fails. A mutant on
// which they take much longer than without it counts as killed.
func try(ctx context.Context, m *mutant, tests []*test, scratch string) (verdict, error) {
	v := verdict{mutant: m}
	var reaching []*test
	for _, t := range tests {
		if t.reaches[m.id] != 0 {
			reaching = append(reaching, t)
		}
	}
	v.reached = len(reaching)
	for share := time.Second; len(reaching) > 0; share *= 4 {
		names, took := []string{}, time.Duration(0)
		of := reaching[0].of
		for len(reaching) > 0 && reaching[0].of == of && (len(names) == 0 || took+reaching[0].took <= share) {
			names, took = append(names, reaching[0].name), took+reaching[0].took
			reaching = reaching[1:]
		}
		res := of.run(ctx, scratch, 5*time.Second+5*took, []string{"MUTANT=" + strconv.Itoa(m.id)}, names...)
		switch {
		case res.err == nil:
			continue
		case ctx.Err() != nil:
			return v, ctx.Err()
		case res.timedOut:
			v.killer, v.timedOut = strings.Join(names, ", "), true
		default:
			v.killer = strings.Join(names, " or ")
			if f := failed.FindSubmatch(res.out); f != nil {
				v.killer = string(f[1])
			} else if len(names) > 1 {
				v.killer = "a panic in " + v.killer
			}
		}
		return v, nil
	}
	return v, nil
}
