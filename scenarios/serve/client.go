package serve

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

	"github.com/simctl/simctl/internal/infile"
	"github.com/simctl/simctl/internal/nomadtls"
	"github.com/simctl/simctl/internal/redact"
)

// RefusedError says why a served cluster did not take events: what is wrong with them.
type RefusedError struct{ text string }

func (e *RefusedError) Error() string { return e.text }

// Send makes events happen on the cluster that is served at an address, and returns its status. A
// text of nil makes nothing happen. Token is empty if none is asked for. The error is a
// *RefusedError if something is wrong with the text. TLS is as the nomad command has it, from the environment.
func Send(ctx context.Context, address, token string, text []byte) (Status, error) {
	method := http.MethodPost
	if text == nil {
		method = http.MethodGet
	}
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	shown := redact.Passwords(address)
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(address, "/")+eventsPath, bytes.NewReader(text))
	if err != nil {
		return Status{}, &RefusedError{fmt.Sprintf("address %q: it must be the address of the HTTP API, such as http://127.0.0.1:4646", shown)}
	}
	req.Header.Set("X-Nomad-Token", token)
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}}}
	if err := api.ConfigureTLS(client, api.DefaultConfig().TLSConfig); err != nil {
		return Status{}, &RefusedError{err.Error()}
	}
	resp, err := client.Do(req)
	if err != nil {
		return Status{}, fmt.Errorf("is a cluster served there? %w", nomadtls.Explain(err))
	}
	defer resp.Body.Close()
	body, err := infile.ReadFrom(resp.Body, 64<<20)
	if err != nil {
		return Status{}, fmt.Errorf("read the answer of %s: %w", shown, err)
	}
	said := nomadtls.Explain(errors.New(cmp.Or(strings.TrimSpace(string(body)), resp.Status))).Error()
	var of Status
	timeless := func(p Pending) bool { return p.InS == nil } // false for every event of a simctl serve
	switch {
	case resp.StatusCode == http.StatusBadRequest:
		return of, &RefusedError{said}
	case resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusOK && (json.Unmarshal(body, &of) != nil || slices.ContainsFunc(of.Events, timeless)):
		return of, fmt.Errorf("what answers at %s is no simctl serve", shown)
	case resp.StatusCode != http.StatusOK:
		return of, errors.New(said)
	}
	return of, nil
}
