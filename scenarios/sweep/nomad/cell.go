package nomad

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
	"github.com/simctl/simctl/scenarios/forecast"
	"github.com/simctl/simctl/scenarios/sweep"
)

// maxPayload is the largest payload that Nomad dispatches, in bytes (nomad/job_endpoint.go,
// DispatchPayloadSizeLimit).
const maxPayload = 16 << 10

// packSpec encodes a Spec for a cell elsewhere: as compressed JSON, since it may hold a
// scenario file.
func packSpec(spec scenarios.Spec) ([]byte, error) {
	var buf bytes.Buffer
	zip := gzip.NewWriter(&buf)
	if err := errors.Join(json.NewEncoder(zip).Encode(spec), zip.Close()); err != nil {
		return nil, fmt.Errorf("pack the spec of a run: %w", err)
	}
	if buf.Len() > maxPayload {
		return nil, fmt.Errorf("the scenario takes %d bytes compressed, and Nomad dispatches at most %d: shorten its file: %w", buf.Len(), maxPayload, sweep.ErrGiveUp)
	}
	return buf.Bytes(), nil
}

// unpackSpec decodes what packSpec encoded.
func unpackSpec(packed []byte) (spec scenarios.Spec, err error) {
	zip, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return spec, fmt.Errorf("unpack the spec of a run: %w", err)
	}
	dec := json.NewDecoder(zip)
	dec.DisallowUnknownFields()
	if err = dec.Decode(&spec); err == nil {
		_, err = io.Copy(io.Discard, zip) // its checksum is at the end
	}
	if err != nil {
		return spec, fmt.Errorf("unpack the spec of a run: %w", err)
	}
	return spec, nil
}

// memoryVar is the variable in which a Nomad client tells a task its memory, in MB.
const memoryVar = "NOMAD_MEMORY_LIMIT"

// ServeCell is what a dispatched job runs: the Spec in specFile, in a process of its own with
// the memory that Nomad grants. It writes the Result to the file result if that is named, and
// every other outcome to out. It returns the error of the run, too.
func ServeCell(ctx context.Context, specFile, result string, out io.Writer) error {
	var spec scenarios.Spec
	packed, err := os.ReadFile(specFile)
	if err == nil {
		spec, err = unpackSpec(packed)
	}
	if err != nil {
		return errors.Join(err, scenarios.WriteOutcome(out, nil, err))
	}
	heap := forecast.Of(spec).Memory * forecast.Roomy
	if mb, err := strconv.Atoi(os.Getenv(memoryVar)); err == nil && mb > 0 {
		heap = float64(mb) * 1e6 * 0.7
	}
	res, err := scenarios.RunChild(ctx, spec, scenarios.Limits{}, int(heap), nil)
	if err == nil && result != "" {
		if err = res.WriteFile(result); err == nil {
			return nil
		}
	}
	return errors.Join(err, scenarios.WriteOutcome(out, res, err))
}
