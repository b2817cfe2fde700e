package scenarios

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/simctl/simctl/internal/nomadtls"
	"github.com/simctl/simctl/internal/redact"
	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/nodesim/remote"
	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/english"
	"github.com/simctl/simctl/scenarios/internal/realcluster"
)

// Elsewhere is how to reach a cluster of real servers that is there already. What the nomad
// command takes from its environment beside the address comes from there: NOMAD_TOKEN,
// NOMAD_REGION, NOMAD_CACERT and so on. With three files of TLS, clients use them, too.
type Elsewhere struct {
	// Addresses are those of every server's HTTP API; nil = NOMAD_ADDR, or this machine.
	Addresses []string
	// Servers are where the servers serve clients, HOST:PORT, in the same order; nil = as they
	// say.
	Servers []string
	// IntroToken goes with the first registration of each client, as servers want it whose client_introduction is strict.
	IntroToken string
	// AllowForeign allows a cluster with jobs and nodes of others.
	AllowForeign bool
}

// Reach asks a cluster what it is. Dir is where runs note what they change there. The error wraps ErrReal
// if no run can go on in it. Say is told what is cleaned up although some servers are silent.
func Reach(ctx context.Context, at Elsewhere, dir string, say func(string)) (Real, error) {
	cfg, err := at.config()
	if err != nil {
		return Real{}, err
	}
	about, err := realcluster.Look(ctx, cfg, dir, func(left realcluster.Cleaned) { say(describeLeft(left)) })
	if err != nil {
		return Real{}, elsewhereError(err)
	}
	return Real{Name: "nomad-" + about.Version, Version: about.Version, Dir: dir, at: &at, about: about}, nil
}

// CleanUp purges the jobs and nodes that a killed run has left in a cluster, restores what it has
// changed, and says what it has done, if it has done anything. Errors are as those of Reach.
func CleanUp(ctx context.Context, at Elsewhere, dir string) (string, error) {
	cfg, err := at.config()
	if err != nil {
		return "", err
	}
	done, err := realcluster.Cleanup(ctx, cfg, dir)
	if err != nil && !done.Any() {
		return "", elsewhereError(err)
	}
	return describeCleaned(done), elsewhereError(err)
}

// describeLeft says what was found of a run that was killed.
func describeLeft(c realcluster.Cleaned) string {
	return "after a run that was killed: " + describeCleaned(c)
}

// describeCleaned says what a clean-up has found.
func describeCleaned(c realcluster.Cleaned) string {
	if !c.Any() {
		return "there is nothing to clean up"
	}
	text := fmt.Sprintf("purged %s and %s", english.Plural(c.Jobs, "job"), english.Plural(c.Nodes, "node"))
	if c.Settings {
		text += ", and set schedulers and broker as they were"
	}
	return text
}

func elsewhereError(err error) error {
	if errors.Is(err, realcluster.ErrUnsuited) {
		return unsuited{err}
	}
	return err
}

// unsuited is an error that wraps ErrReal, in its own words.
type unsuited struct{ error }

func (unsuited) Is(target error) bool { return target == ErrReal }
func (e unsuited) Unwrap() error      { return e.error }

// config returns how to reach the cluster. Its error wraps ErrReal.
func (e Elsewhere) config() (realcluster.Config, error) {
	env := api.DefaultConfig()
	addresses := e.Addresses
	if addresses == nil {
		addresses = []string{env.Address}
	}
	cfg := realcluster.Config{RPC: e.Servers, Foreign: e.AllowForeign, Clients: remote.Config{Region: env.Region, IntroToken: e.IntroToken}}
	for _, a := range addresses {
		one := *env
		one.Address = a
		cfg.API = append(cfg.API, &one)
	}
	files := nomadtls.Files{CA: env.TLSConfig.CACert, Cert: env.TLSConfig.ClientCert, Key: env.TLSConfig.ClientKey}
	if files.CA == "" || files.Cert == "" || files.Key == "" {
		return cfg, nil
	}
	var err error
	if cfg.Clients.TLS, err = files.Client(env.Region); err != nil {
		err = fmt.Errorf("%w: NOMAD_CACERT, NOMAD_CLIENT_CERT, NOMAD_CLIENT_KEY: %w", ErrReal, err)
	}
	return cfg, err
}

// arguments are the flags that reach the cluster.
func (e Elsewhere) arguments() []string {
	var args []string
	if e.Addresses != nil {
		args = append(args, "--address", Quote(redact.Passwords(strings.Join(e.Addresses, ","))))
	}
	if e.Servers != nil {
		args = append(args, "--server", Quote(strings.Join(e.Servers, ",")))
	}
	if e.IntroToken != "" {
		args = append(args, "--intro-token", "xxxxx") // a secret, as the passwords of addresses
	}
	if e.AllowForeign {
		args = append(args, "--allow-foreign-cluster")
	}
	return args
}

// checkElsewhere returns an error if the scenario and the cluster differ in a setting that a run cannot change.
func (c *Compiled) checkElsewhere(about *realcluster.About) error {
	words := c.def.Cluster.Args.(*clusterWords)
	if words.Servers != about.Servers {
		return fmt.Errorf("%w: the scenario has %s and the cluster %d: let the scenario have as many, by --servers %d or the like",
			ErrReal, english.Plural(words.Servers, "server"), about.Servers, about.Servers)
	}
	want, usual := words.Heartbeat, defaultCluster.Heartbeat
	for _, s := range []struct {
		setting, field    string
		want, usual, unit float64
	}{
		{"max_heartbeats_per_second", "MaxHeartbeatsPerSecond", want.MaxPerSecond, usual.MaxPerSecond, 1},
		{"min_heartbeat_ttl", "MinHeartbeatTTL", want.MinTTL.Seconds(), usual.MinTTL.Seconds(), float64(time.Second)},
		{"heartbeat_grace", "HeartbeatGrace", want.Grace.Seconds(), usual.Grace.Seconds(), float64(time.Second)},
	} {
		has, _ := about.Settings[s.field].(float64)
		if has /= s.unit; has == 0 {
			has = s.usual // servers show no defaults
		}
		if has != s.want {
			return fmt.Errorf("%w: the scenario has %s = %s and the cluster %s: give both the same", ErrReal, s.setting, formatFloat(s.want), formatFloat(has))
		}
	}
	return nil
}

// LeftError says what a run could not clean up in a cluster that was there. The run has a Result.
type LeftError struct{ error }

func (e LeftError) Unwrap() error { return e.error }

// runElsewhere runs in a cluster that is there, and leaves it as it was.
func (c *Compiled) runElsewhere(ctx context.Context, r Real, tell func(Progress)) (res *metrics.Result, err error) {
	say := r.Say
	if say == nil {
		say = func(string) {}
	}
	cfg, err := r.at.config()
	if err != nil {
		return nil, err
	}
	cfg.Jobs, cfg.Clients.Connections = c.jobIDs(), c.def.Fleet.Connections
	cfg.Clients.Refused = func(server string) {
		say(fmt.Sprintf("server %s closes connections beyond its limit for an address (limits.rpc_max_conns_per_client, 100 by default): "+
			"clients share those that it leaves open, and the others are tried again; raise the limit, or set connections of the scenario's fleet", server))
	}
	words := c.def.Cluster.Args.(*clusterWords)
	stay, err := realcluster.Enter(ctx, cfg, r.Dir, words.Schedulers, func(left realcluster.Cleaned) {
		say(describeLeft(left))
	})
	if err != nil {
		return nil, elsewhereError(err)
	}
	defer func() {
		if ctx.Err() != nil {
			say("interrupted: cleaning up the cluster")
		}
		left := stay.Leave()
		if left != nil && ctx.Err() != nil {
			say(left.Error()) // the error that is returned tells of the interrupt only
		}
		if err == nil && left != nil {
			err = LeftError{left}
			return
		}
		err = errors.Join(err, left)
	}()
	return c.runIn(ctx, stay.Cluster, r, tell)
}

// jobIDs returns the IDs of all jobs that the scenario registers.
func (c *Compiled) jobIDs() []string {
	var ids []string
	for _, p := range c.scenario.Phases {
		for _, e := range p.Events {
			if a, ok := e.Action.(actions.Registration); ok {
				for _, j := range a.Registers() {
					ids = append(ids, j.ID)
				}
			}
		}
	}
	return ids
}
