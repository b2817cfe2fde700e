package sweep

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/simctl/simctl/scenarios"
)

// maxPayload is how many bytes Nomad takes with a dispatch (nomad/job_endpoint.go,
// DispatchPayloadSizeLimit).
const maxPayload = 16 << 10

// packSpec makes a Spec what a cell elsewhere is handed: compressed JSON, since a scenario
// file may be part of it.
func packSpec(spec scenarios.Spec) ([]byte, error) {
	text, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("pack the spec of a run: %w", err)
	}
	var buf bytes.Buffer
	zip := gzip.NewWriter(&buf)
	if _, err := zip.Write(text); err != nil {
		return nil, fmt.Errorf("pack the spec of a run: %w", err)
	}
	if err := zip.Close(); err != nil {
		return nil, fmt.Errorf("pack the spec of a run: %w", err)
	}
	if buf.Len() > maxPayload {
		return nil, fmt.Errorf("the scenario takes %d bytes compressed, and Nomad dispatches at most %d: shorten its file: %w", buf.Len(), maxPayload, ErrGiveUp)
	}
	return buf.Bytes(), nil
}

// unpackSpec reads what packSpec made.
func unpackSpec(packed []byte) (spec scenarios.Spec, err error) {
	zip, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return spec, fmt.Errorf("unpack the spec of a run: %w", err)
	}
	dec := json.NewDecoder(zip)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&spec); err != nil {
		return spec, fmt.Errorf("unpack the spec of a run: %w", err)
	}
	if _, err := io.Copy(io.Discard, zip); err != nil { // its checksum is at the end
		return spec, fmt.Errorf("unpack the spec of a run: %w", err)
	}
	return spec, nil
}

// memoryVar is how a Nomad client tells a task its memory, in MB.
const memoryVar = "NOMAD_MEMORY_LIMIT"

// ServeCell is what a dispatched job runs: the Spec in the file, in a process of its own
// with the memory that Nomad gives. The Result goes to the file result if that is named,
// and everything else of the outcome to out. The error is the run's, too.
func ServeCell(ctx context.Context, specFile, result string, out io.Writer) error {
	packed, err := os.ReadFile(specFile)
	if err != nil {
		return errors.Join(err, scenarios.WriteOutcome(out, nil, err))
	}
	spec, err := unpackSpec(packed)
	if err != nil {
		return errors.Join(err, scenarios.WriteOutcome(out, nil, err))
	}
	heap := Cost(spec).Memory * roomy
	if mb, err := strconv.Atoi(os.Getenv(memoryVar)); err == nil && mb > 0 {
		heap = float64(mb) * 1e6 * 0.7
	}
	res, err := scenarios.RunChild(ctx, spec, int(heap), nil)
	if err == nil && result != "" {
		if err = res.WriteFile(result); err == nil {
			return nil
		}
	}
	return errors.Join(err, scenarios.WriteOutcome(out, res, err))
}
