package nomadrpc

import (
	"crypto/tls"
	"crypto/x509"
	"strings"
	"testing"

	"github.com/simctl/simctl/internal/testcerts"
)

// authority is one whose certificates servers and clients can use at once.
type authority struct {
	*testcerts.Authority
	pool *x509.CertPool
}

func newAuthority(t testing.TB) authority {
	t.Helper()
	made, err := testcerts.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	a := authority{made, x509.NewCertPool()}
	a.pool.AppendCertsFromPEM(made.PEM)
	return a
}

func (a authority) issue(t testing.TB, name string) tls.Certificate {
	t.Helper()
	cert, key, err := a.Issue(name)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

func TestTLS(t *testing.T) {
	a := newAuthority(t)
	address := serve(t, ServerConfig{TLS: &tls.Config{
		Certificates: []tls.Certificate{a.issue(t, "server.global.nomad")}, ClientCAs: a.pool, ClientAuth: tls.RequireAndVerifyClientCert,
	}})
	client := &tls.Config{
		RootCAs: a.pool, ServerName: "server.global.nomad", Certificates: []tls.Certificate{a.issue(t, "client.global.nomad")},
	}
	s := dial(t, address, DialConfig{TLS: client})
	var caller string
	if err := s.Call(t.Context(), "Test.Caller", &GenericRequest{}, &caller); err != nil || !strings.HasPrefix(caller, "127.0.0.1:") {
		t.Errorf("the server knows its client as %q, %v", caller, err)
	}

	wrong := client.Clone()
	wrong.ServerName = "server.other.nomad"
	if _, err := Dial(t.Context(), address, DialConfig{TLS: wrong}); err == nil || !strings.Contains(err.Error(), address+": TLS: ") {
		t.Errorf("error %v, want that the server is another", err)
	}
	// A client without a certificate learns of it when it reads, one without TLS likewise.
	anonymous := client.Clone()
	anonymous.Certificates = nil
	for _, cfg := range []DialConfig{{TLS: anonymous}, {}} {
		s, err := Dial(t.Context(), address, cfg)
		if err != nil {
			continue
		}
		if err := s.Call(t.Context(), "Test.Caller", &GenericRequest{}, &caller); err == nil {
			t.Errorf("the server answered with %q to a client without a certificate", caller)
		}
		s.Close()
	}
}

func TestTLSToAServerWithout(t *testing.T) {
	a := newAuthority(t)
	if s, err := Dial(t.Context(), serve(t, ServerConfig{}), DialConfig{TLS: &tls.Config{RootCAs: a.pool, ServerName: "server.global.nomad"}}); err == nil {
		s.Close()
		t.Error("a server without TLS spoke TLS")
	}
}
