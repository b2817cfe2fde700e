package nomadtls

import (
	"fmt"
	"strings"
)

// faults are what is wrong with a set-up of TLS, by what errors say of it. Errors of Nomad's API do not wrap
// others, so their text is all that there is. The first that fits counts.
var faults = []struct{ said, remedy string }{
	{"certificate signed by unknown authority", "name the certificate of the authority that signed the server's (--tls-ca, NOMAD_CACERT)"},
	{"cannot validate certificate for", otherName},
	{"certificate is valid for", otherName},
	{"certificate is not valid for any names", otherName},
	{"x509: certificate has expired or is not yet valid", "give the server a certificate that is valid, or set this machine's clock"},
	{"x509: certificate specifies an incompatible key usage", "give the server a certificate for servers"},
	{"tls: certificate required", "the server wants a certificate of its clients: name one that its authority signed, and its key (--tls-cert and --tls-key, NOMAD_CLIENT_CERT and NOMAD_CLIENT_KEY)"},
	{"remote error: tls: ", "the server refuses this client's certificate: name one for client.<region>.nomad that the server's authority signed (--tls-cert and --tls-key, NOMAD_CLIENT_CERT and NOMAD_CLIENT_KEY)"},
	{"server gave HTTP response to HTTPS client", "the server speaks no TLS there: write http:// for https://"},
	{"Client sent an HTTP request to an HTTPS server", "the server speaks TLS there: write https:// for http://, and name its authority's certificate (NOMAD_CACERT)"},
	{"tls: first record does not look like a TLS handshake", "the server speaks no TLS there: leave TLS out"},
}

const otherName = "the server has another name than it is called by: " +
	"clients want server.<region>.nomad (--region, NOMAD_REGION), the API's want its host or NOMAD_TLS_SERVER_NAME"

// Remedy says what users can do about a connection that failed with an error, if its TLS is what is wrong; "" otherwise.
func Remedy(err error) string {
	for _, f := range faults {
		if err != nil && strings.Contains(err.Error(), f.said) {
			return f.remedy
		}
	}
	return ""
}

// Explain adds the remedy to an error that has one.
func Explain(err error) error {
	if remedy := Remedy(err); remedy != "" {
		return fmt.Errorf("%w: %s", err, remedy)
	}
	return err
}
