package nomadrpc

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"strings"
	"testing"
	"time"
)

// authority makes certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	a := &authority{pool: x509.NewCertPool()}
	issued := a.issue(t, "authority")
	cert, err := x509.ParseCertificate(issued.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	a.cert, a.key = cert, issued.PrivateKey.(*ecdsa.PrivateKey)
	a.pool.AddCert(cert)
	return a
}

// issue returns a certificate for a name. The first is the authority's own.
func (a *authority) issue(t testing.TB, name string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		BasicConstraintsValid: true, IsCA: a.cert == nil,
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
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
	var name string
	if err := s.Call(t.Context(), "Test.Peer", &GenericRequest{}, &name); err != nil || name != "client.global.nomad" {
		t.Errorf("the server knows its client as %q, %v", name, err)
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
		if err := s.Call(t.Context(), "Test.Peer", &GenericRequest{}, &name); err == nil {
			t.Errorf("the server answered with %q to a client without a certificate", name)
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
