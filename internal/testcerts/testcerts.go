package testcerts

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"time"
)

// Authority signs certificates, which are good for an hour.
type Authority struct {
	PEM  []byte // its own certificate
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewAuthority returns a new authority.
func NewAuthority() (*Authority, error) {
	a := &Authority{}
	der, key, err := a.sign("authority")
	if err != nil {
		return nil, err
	}
	a.PEM, a.key = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), key
	a.cert, err = x509.ParseCertificate(der)
	return a, err
}

// Issue returns a certificate for a host name, and its key, in PEM.
func (a *Authority) Issue(name string) (cert, key []byte, err error) {
	der, private, err := a.sign(name)
	if err != nil {
		return nil, nil, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), nil
}

// Write puts ca.pem, NAME.pem and NAME-key.pem into a directory, for each name.
func (a *Authority) Write(dir string, names ...string) error {
	err := os.WriteFile(filepath.Join(dir, "ca.pem"), a.PEM, 0o600)
	for _, name := range names {
		cert, key, issued := a.Issue(name)
		err = errors.Join(err, issued,
			os.WriteFile(filepath.Join(dir, name+".pem"), cert, 0o600), os.WriteFile(filepath.Join(dir, name+"-key.pem"), key, 0o600))
	}
	return err
}

// sign signs a certificate, which is the authority's own if it has none.
func (a *Authority) sign(name string) ([]byte, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return nil, nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour), BasicConstraintsValid: true, IsCA: a.cert == nil,
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	return der, key, err
}
