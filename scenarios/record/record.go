package record

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/simctl/simctl/internal/redact"
	"github.com/simctl/simctl/scenarios/internal/english"
)

// Config says what to record.
type Config struct {
	API *api.Config
	For time.Duration // how long to follow events; zero = not at all
	// Name is what the files beside the scenario begin with.
	Name string
	// HashNames hides the names of jobs, datacenters and classes.
	HashNames bool
	// Tell is called when something has been seen; nil = nobody listens.
	Tell func(Progress)
}

// Progress is how far a recording is.
type Progress struct {
	Nodes, Jobs int
	Down        int // nodes besides, which have never been up
	Events      int // changes of nodes and jobs so far
}

func (p Progress) String() string {
	down := ""
	if p.Down > 0 {
		down = fmt.Sprintf(" (and %d down)", p.Down)
	}
	return fmt.Sprintf("%s%s, %s, %s", english.Plural(p.Nodes, "node"), down, english.Plural(p.Jobs, "job"), english.Plural(p.Events, "event"))
}

// Address returns how to reach a cluster: as the environment says, at that address unless it is
// empty.
func Address(address string) *api.Config {
	c := api.DefaultConfig()
	c.Address = cmp.Or(address, c.Address)
	return c
}

// Recording is a scenario file, and the files that it names, by their names.
type Recording struct {
	Scenario []byte
	Files    map[string][]byte
}

// recorder is a recording under way. It belongs to one goroutine.
type recorder struct {
	cfg    Config
	client *api.Client
	names  *namer
	seen   *seen
	began  time.Time
}

// Take records a cluster. When ctx ends, it returns what it has seen, unless it has not even seen
// all nodes and jobs.
func Take(ctx context.Context, cfg Config) (*Recording, error) {
	at := redact.Passwords(cfg.API.Address)
	client, err := api.NewClient(cfg.API)
	if err != nil {
		return nil, oneLine(err)
	}
	r := &recorder{cfg: cfg, client: client, names: newNamer(cfg.HashNames), seen: newSeen()}
	index, err := r.look(ctx)
	if err != nil {
		return nil, fmt.Errorf("read nodes and jobs from %s: %w", at, oneLine(err))
	}
	if len(r.seen.nodes) == 0 {
		return nil, fmt.Errorf("the cluster at %s has no nodes: there is nothing to record", at)
	}
	r.began = time.Now()
	r.tell()
	if cfg.For > 0 {
		ctx, cancel := context.WithTimeout(ctx, cfg.For)
		defer cancel()
		r.watch(ctx, index+1)
		r.seen.lasted = time.Since(r.began)
	}
	if r.seen.up() == 0 {
		return nil, fmt.Errorf("all nodes of the cluster at %s are down (%d): there is nothing to record", at, len(r.seen.nodes))
	}
	return r.seen.write(cfg.Name, r.names)
}

func (r *recorder) tell() {
	if r.cfg.Tell == nil {
		return
	}
	up := r.seen.up()
	p := Progress{Nodes: up, Down: len(r.seen.nodes) - up, Jobs: len(r.seen.jobs), Events: len(r.seen.changes)}
	for _, j := range r.seen.jobs {
		p.Events += len(j.changes)
	}
	r.cfg.Tell(p)
}

// oneLine returns an error of the API, which has several lines, in one.
func oneLine(err error) error {
	return errors.New(redact.Passwords(strings.Join(strings.Fields(err.Error()), " ")))
}
