package remote

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// LoadTLS reads the certificates of a client: of the authority that signed the servers', and
// its own with its key. It returns nil if no file is named.
func LoadTLS(ca, cert, key, region string) (*tls.Config, error) {
	if ca == "" && cert == "" && key == "" {
		return nil, nil
	}
	if ca == "" || cert == "" || key == "" {
		return nil, fmt.Errorf("TLS needs three files: the authority's certificate (given: %q), the client's certificate (%q) and its key (%q)", ca, cert, key)
	}
	text, err := os.ReadFile(ca)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s: it has no certificate in PEM", ca)
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("%s and %s: %w", cert, key, err)
	}
	return &tls.Config{
		RootCAs: pool, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12,
		// Nomad's servers have this name (tls { verify_server_hostname = true }).
		ServerName: "server." + cmp.Or(region, DefaultRegion) + ".nomad",
	}, nil
}
