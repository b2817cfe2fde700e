package nomadtls

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// Files are those of one end, in PEM. None or all must be there.
type Files struct {
	CA   string // certificate of the authority that signed the other end's
	Cert string // the own certificate
	Key  string // and its key
}

// ServerName is what servers of a region are called in their certificates, as clients want it with
// tls { verify_server_hostname = true }. No region is Nomad's default.
func ServerName(region string) string { return "server." + cmp.Or(region, "global") + ".nomad" }

// Client returns what a client of servers of a region needs; nil if no file is named.
func (f Files) Client(region string) (*tls.Config, error) {
	pool, pair, err := f.load()
	if pool == nil {
		return nil, err
	}
	return &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, ServerName: ServerName(region)}, nil
}

// Server returns what a server needs whose clients must have a certificate of the same authority if strict is set, and need none
// otherwise; nil if no file is named.
func (f Files) Server(strict bool) (*tls.Config, error) {
	pool, pair, err := f.load()
	if pool == nil {
		return nil, err
	}
	cfg := &tls.Config{ClientCAs: pool, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	if strict {
		cfg.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return cfg, nil
}

// load reads the files. The pool is nil if there are none, or after an error.
func (f Files) load() (*x509.CertPool, tls.Certificate, error) {
	if f == (Files{}) {
		return nil, tls.Certificate{}, nil
	}
	if f.CA == "" || f.Cert == "" || f.Key == "" {
		return nil, tls.Certificate{}, fmt.Errorf("TLS needs three files: the authority's certificate (given: %q), the own certificate (%q) and its key (%q)", f.CA, f.Cert, f.Key)
	}
	text, err := os.ReadFile(f.CA)
	if err != nil {
		return nil, tls.Certificate{}, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, tls.Certificate{}, fmt.Errorf("%s: it has no certificate in PEM", f.CA)
	}
	pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		return nil, tls.Certificate{}, fmt.Errorf("%s and %s: %w", f.Cert, f.Key, err)
	}
	return pool, pair, nil
}
