package serve

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"

	"github.com/simctl/simctl/internal/nomadtls"
	"github.com/simctl/simctl/internal/testcerts"
	"github.com/simctl/simctl/nodesim/remote"
	"github.com/simctl/simctl/scenarios"
)

// certificates writes those of an authority, for servers, clients and the server of nobody, and returns whose they are.
func certificates(t *testing.T) func(name string) nomadtls.Files {
	t.Helper()
	dir := t.TempDir()
	a, err := testcerts.NewAuthority()
	if err == nil {
		err = a.Write(dir, "server.global.nomad", "client.global.nomad", "example.org")
	}
	if err != nil {
		t.Fatal(err)
	}
	return func(name string) nomadtls.Files {
		return nomadtls.Files{CA: filepath.Join(dir, "ca.pem"), Cert: filepath.Join(dir, name+".pem"), Key: filepath.Join(dir, name+"-key.pem")}
	}
}

// TestTLS: with certificates, users and clients reach a served cluster over TLS and in no other way.
func TestTLS(t *testing.T) {
	of, others := certificates(t), certificates(t)
	o := options()
	o.Servers, o.TLS = 1, of("server.global.nomad")
	where := start(t, o)
	https, http := "https://"+where.HTTP.String(), "http://"+where.HTTP.String()
	if got, want := strings.Join(where.Env, " "), "NOMAD_ADDR="+https+" NOMAD_CACERT="+scenarios.Quote(o.TLS.CA)+" NOMAD_TLS_SERVER_NAME=server.global.nomad"; got != want {
		t.Errorf("the nomad command is told %q, want %q", got, want)
	}
	plain := start(t, options())

	// Users, as their environment says, without a certificate of their own.
	t.Setenv("NOMAD_CACERT", o.TLS.CA)
	t.Setenv("NOMAD_TLS_SERVER_NAME", "server.global.nomad")
	cfg := api.DefaultConfig()
	cfg.Address = https
	client, err := api.NewClient(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if leader, err := client.Status().Leader(); err != nil || leader != where.RPC[0].String() {
		t.Errorf("the API says that %q leads, %v", leader, err)
	}
	if _, err := Send(t.Context(), https, "", nil); err != nil {
		t.Errorf("events: %v", err)
	}
	for _, c := range []struct {
		what, address, authority, name, want string
	}{
		{"another authority", https, others("").CA, "server.global.nomad", "name the certificate of the authority that signed the server's (--tls-ca, NOMAD_CACERT)"},
		{"another name", https, o.TLS.CA, "127.0.0.1", "NOMAD_TLS_SERVER_NAME"},
		{"no TLS", http, "", "", "write https:// for http://"},
		{"TLS to a server without", "https://" + plain.HTTP.String(), o.TLS.CA, "server.global.nomad", "write http:// for https://"},
	} {
		t.Setenv("NOMAD_CACERT", c.authority)
		t.Setenv("NOMAD_TLS_SERVER_NAME", c.name)
		_, err := scenarios.Reach(t.Context(), scenarios.Elsewhere{Addresses: []string{c.address}}, t.TempDir(), nil)
		if !errors.Is(err, scenarios.ErrReal) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") || strings.Count(err.Error(), c.want) != 1 {
			t.Errorf("%s: %v, want one line with %q", c.what, err, c.want)
		}
		if _, err := Send(t.Context(), c.address, "", nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: events: %v, want %q", c.what, err, c.want)
		}
	}

	// Clients, which need a certificate.
	check := func(files nomadtls.Files) error {
		secure, err := files.Client("")
		if err != nil {
			t.Fatal(err)
		}
		s, err := remote.New(remote.Config{Addresses: []string{where.RPC[0].String()}, Connections: 1, TLS: secure})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		return s.Check(ctx)
	}
	if err := check(of("client.global.nomad")); err != nil {
		t.Error(err)
	}
	mixed := others("client.global.nomad")
	mixed.CA = o.TLS.CA
	if err := check(mixed); err == nil || !strings.Contains(err.Error(), "the server refuses this client's certificate") {
		t.Errorf("a client of another authority: %v", err)
	}
	if err := check(nomadtls.Files{}); err == nil || !strings.Contains(err.Error(), "those without TLS") {
		t.Errorf("a client without TLS: %v", err)
	}

	o.TLS = of("example.org")
	if err := o.Check(); err == nil || !strings.Contains(err.Error(), "clients demand the name server.global.nomad of servers") {
		t.Errorf("servers of another name: %v", err)
	}
	if o.RPCAddr = ""; o.Check() != nil {
		t.Errorf("without clients: %v", o.Check())
	}
}
