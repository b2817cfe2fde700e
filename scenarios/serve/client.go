package serve

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/simctl/simctl/internal/infile"
	"github.com/simctl/simctl/internal/redact"
)

// RefusedError says why a served cluster did not take events: what is wrong with them.
type RefusedError struct{ text string }

func (e *RefusedError) Error() string { return e.text }

// Send makes events happen on the cluster that is served at an address, and returns its status. A
// text of nil makes nothing happen. Token is empty if none is asked for. The error is a
// *RefusedError if something is wrong with the text.
func Send(ctx context.Context, address, token string, text []byte) (Status, error) {
	method := http.MethodPost
	if text == nil {
		method = http.MethodGet
	}
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	shown := redact.Passwords(address)
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(address, "/")+EventsPath, bytes.NewReader(text))
	if err != nil {
		return Status{}, &RefusedError{fmt.Sprintf("address %q: it must be the address of the HTTP API, such as http://127.0.0.1:4646", shown)}
	}
	req.Header.Set("X-Nomad-Token", token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return Status{}, fmt.Errorf("is a cluster served there? %w", err)
	}
	defer resp.Body.Close()
	body, err := infile.ReadFrom(resp.Body, 64<<20)
	if err != nil {
		return Status{}, fmt.Errorf("read the answer of %s: %w", shown, err)
	}
	said := cmp.Or(strings.TrimSpace(string(body)), resp.Status)
	var of Status
	switch {
	case resp.StatusCode == http.StatusBadRequest:
		return of, &RefusedError{said}
	case resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusOK && json.Unmarshal(body, &of) != nil:
		return of, fmt.Errorf("what answers at %s is no simctl serve", shown)
	case resp.StatusCode != http.StatusOK:
		return of, errors.New(said)
	}
	return of, nil
}
