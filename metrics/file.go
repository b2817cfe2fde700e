package metrics

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/simctl/simctl/internal/infile"
	"github.com/simctl/simctl/internal/outfile"
)

// ErrNotResult is wrapped by errors about JSON that is no Result.
var ErrNotResult = errors.New("not a simctl result")

// Load reads a Result file of this schema version or an older one. The error names the file
// and says what is wrong with it. Load guesses nothing and fills nothing in, so a field that
// this build does not know is an error too.
func Load(path string) (*Result, error) {
	data, err := infile.Read(path, infile.MostData)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	r, err := Decode(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// Decode reads a Result from the content of its file.
func Decode(data []byte) (*Result, error) {
	if err := cmp.Or(intact(data), checkSchema(data)); err != nil {
		return nil, err
	}
	r := &Result{}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	dec.UseNumber() // parameters keep every digit, so that the digest does not change
	if err := dec.Decode(r); err != nil {
		return nil, fmt.Errorf("not a valid result file: %w", JSONError(err))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("not a valid result file: something follows the result after byte %d", dec.InputOffset())
	}
	if err := cmp.Or(unambiguous(data), r.validate()); err != nil {
		return nil, fmt.Errorf("not a valid result file: %w", err)
	}
	return r, nil
}

// unambiguous returns an error about valid JSON in which an object has a field twice, as text that was merged
// by halves does. Readers would take the last one and say nothing.
func unambiguous(data []byte) error {
	var seen []map[string]bool // of the objects and lists around i, the innermost last
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '{', '[':
			seen = append(seen, map[string]bool{})
		case '}', ']':
			seen = seen[:len(seen)-1]
		case '"':
			begin := i
			for i++; data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
			if after := bytes.TrimLeft(data[i+1:], " \t\r\n"); len(after) == 0 || after[0] != ':' {
				continue
			}
			var field string
			if err := json.Unmarshal(data[begin:i+1], &field); err != nil {
				return err
			}
			in := seen[len(seen)-1]
			if in[field] {
				return fmt.Errorf("it has the field %q twice in one object, the second time in line %d", field, 1+bytes.Count(data[:begin], []byte("\n")))
			}
			in[field] = true
		}
	}
	return nil
}

// JSONError words an error of package json about an unknown field or a value of the wrong type by
// what files say, without the types of this program. It returns other errors as they are.
func JSONError(err error) error {
	if err == nil {
		return nil
	}
	if field, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return fmt.Errorf("it has a field %s, which this simctl does not know: use the simctl that wrote it, or a newer one", field)
	}
	e, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return err
	}
	what := "another value"
	switch e.Type.Kind() {
	case reflect.String:
		what = "text"
	case reflect.Bool:
		what = "true or false"
	case reflect.Int, reflect.Int64:
		what = "a whole number"
		if strings.HasPrefix(e.Value, "number") { // it has a fraction, or more digits
			what += " of at most 18 digits"
		}
	case reflect.Uint, reflect.Uint64:
		what = "a whole number of at least 0"
	case reflect.Float64:
		what = "a number"
	case reflect.Slice:
		what = "a list"
	case reflect.Map, reflect.Struct:
		what = "an object"
	}
	return fmt.Errorf("%s is a JSON %s: it must be %s", cmp.Or(e.Field, "its content"), e.Value, what)
}

// conflict begins the part of a file that git could not merge. No line of JSON begins like this.
var conflict = regexp.MustCompile(`(?m)^<{7} `)

// intact returns an error about a file that is not as a program left it: it is empty, cut short, or
// merged by halves.
func intact(data []byte) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return errors.New("the file is empty")
	}
	if at := conflict.FindIndex(data); at != nil {
		return fmt.Errorf("it has a merge conflict in line %d", 1+bytes.Count(data[:at[0]], []byte("\n")))
	}
	if err := json.NewDecoder(bytes.NewReader(data)).Decode(new(json.RawMessage)); errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the file is truncated: its JSON breaks off at byte %d", len(data))
	}
	return nil
}

// checkSchema tells apart files that are no results or too new.
func checkSchema(data []byte) error {
	var head struct {
		Schema *int            `json:"schema"`
		Run    json.RawMessage `json:"run"`
		Axes   json.RawMessage `json:"axes"`
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	err := dec.Decode(&head)
	var typ *json.UnmarshalTypeError
	switch {
	case errors.As(err, &typ):
		return fmt.Errorf(`%w: it is JSON, but no object with a whole number "schema"`, ErrNotResult)
	case err != nil:
		return fmt.Errorf("not a simctl result, which is JSON: %w", err)
	case head.Run == nil && head.Axes != nil:
		return fmt.Errorf("%w: it is about a whole sweep, whose results are in the directory runs beside it", ErrNotResult)
	case head.Schema == nil || head.Run == nil:
		return fmt.Errorf(`%w: it has no "schema" and "run"`, ErrNotResult)
	case *head.Schema > Schema:
		return fmt.Errorf("it has schema %d, but this simctl reads up to %d: use a newer simctl", *head.Schema, Schema)
	case *head.Schema < 1:
		return fmt.Errorf("it has schema %d, but schemas count from 1", *head.Schema)
	}
	return nil
}

// validate checks what readers of a Result rely on.
func (r *Result) validate() error {
	if r.Run.Scenario == "" || r.Run.Broker == "" {
		return errors.New("run.scenario and run.broker must be set")
	}
	if err := unfit(reflect.ValueOf(r)); err != nil {
		return err
	}
	if r.Stopped != "" && len(r.Phases) == 0 {
		return fmt.Errorf("it was stopped by %s in no phase", r.Stopped)
	}
	seen := map[string]bool{}
	for i, p := range r.Phases {
		if p.Name == "" || seen[p.Name] {
			return fmt.Errorf("phases[%d]: the name %q is empty or taken", i, p.Name)
		}
		seen[p.Name] = true
		if p.EndS < p.StartS {
			return fmt.Errorf("phase %s ends at %g s, before its start at %g s", p.Name, p.EndS, p.StartS)
		}
	}
	for _, s := range r.Series {
		if len(s.AtS) != len(s.Value) {
			return fmt.Errorf("series %s does not pair instants with values: %d and %d", s.Name, len(s.AtS), len(s.Value))
		}
		for i := 1; i < len(s.AtS); i++ {
			if s.AtS[i] < s.AtS[i-1] {
				return fmt.Errorf("series %s goes back in time at point %d", s.Name, i)
			}
		}
	}
	for _, l := range r.Latencies {
		if err := l.Distribution.validate(); err != nil {
			return fmt.Errorf("latency %s: %w", l.Name, err)
		}
	}
	if err := r.FanIn.Distribution.validate(); err != nil {
		return fmt.Errorf("fan_in: %w", err)
	}
	return nil
}

// mostNumber bounds what is no count, so that sums and squares are finite.
const mostNumber = 1e100

// unfit returns an error about a text somewhere in v that a terminal would obey and not show, or show backwards, or
// a number that is too large for charts.
func unfit(v reflect.Value) (err error) {
	switch v.Kind() {
	case reflect.String:
		if strings.ContainsFunc(v.String(), func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Bidi_Control) && r != '\n' && r != '\t' }) {
			err = fmt.Errorf("the text %q has a control character", v)
		}
	case reflect.Float64:
		if math.Abs(v.Float()) > mostNumber {
			err = fmt.Errorf("the number %g is beyond ±%g", v.Float(), mostNumber)
		}
	case reflect.Pointer, reflect.Interface:
		err = unfit(v.Elem())
	case reflect.Struct:
		for i := 0; i < v.NumField() && err == nil; i++ {
			err = unfit(v.Field(i))
		}
	case reflect.Slice:
		elem := v.Type().Elem().Kind()
		passes := elem < reflect.Array && elem != reflect.Float64
		for i := 0; i < v.Len() && err == nil && !passes; i++ {
			err = unfit(v.Index(i))
		}
	case reflect.Map:
		for key, value := range v.Seq2() {
			err = cmp.Or(err, unfit(key), unfit(value))
		}
	}
	return err
}

func (d Distribution) validate() error {
	if len(d.LE) != len(d.Count) {
		return fmt.Errorf("its distribution does not pair bounds with counts: %d and %d", len(d.LE), len(d.Count))
	}
	for i := 1; i < len(d.LE); i++ {
		if d.LE[i] <= d.LE[i-1] || d.Count[i] < d.Count[i-1] {
			return fmt.Errorf("its distribution does not ascend at bound %d", i)
		}
	}
	return nil
}

// WriteFile writes the result as indented JSON, readable by everybody. It writes the file
// whole or not at all: beside path, synced, then renamed.
func (r *Result) WriteFile(path string) error {
	data, err := r.encode()
	if err != nil {
		return fmt.Errorf("encoding the result for %s: %w", path, err)
	}
	return outfile.Write(path, data, 0o644)
}

// encode writes a field a line, but all points of a series on one line: they are most of the
// file, and nobody reads them one by one.
func (r *Result) encode() ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(r); err != nil {
		return nil, err
	}
	return joinNumbers(buf.Bytes()), nil
}

// joinNumbers joins arrays of numbers, which the indenter spreads over many lines. It joins
// only lines that hold nothing but a number and perhaps a comma, as no line of a string or an
// object does.
func joinNumbers(indented []byte) []byte {
	out := make([]byte, 0, len(indented))
	inArray := false
	for line := range bytes.Lines(indented) {
		text := bytes.TrimSpace(line)
		switch {
		case isNumber(text):
			inArray = true
			out = append(bytes.TrimRight(out, "\n "), text...)
		case inArray:
			inArray = false
			out = append(out, text...)
			out = append(out, '\n')
		default:
			out = append(out, line...)
		}
	}
	return out
}

func isNumber(line []byte) bool {
	return len(line) > 0 && (line[0] == '-' || line[0] >= '0' && line[0] <= '9')
}

// Digest returns a hash, in hexadecimal, of everything but Host and the fields that came later
// than the first digests. Runs that behaved alike have the same digest on every machine and of
// every version, however their files are laid out. Digest panics if the result is no JSON, which
// no loaded or recorded one is.
func (r *Result) Digest() string {
	data, err := json.Marshal(r.digested())
	if err != nil {
		panic(fmt.Sprintf("metrics: digest of a result that is no JSON: %v", err))
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// digested returns the part of the result that its digest covers. The fields that it lacks are
// zero, and so are not in the JSON, as if they had never come.
func (r *Result) digested() *Result {
	c := *r
	c.Host, c.Run.Nodes, c.Warnings, c.Totals.DeploymentS = Host{}, 0, nil, 0
	c.Phases = slices.Clone(r.Phases)
	for i := range c.Phases {
		c.Phases[i].DeploymentS = 0
	}
	c.Latencies = slices.Clone(r.Latencies)
	for i := range c.Latencies {
		c.Latencies[i].P95 = 0
	}
	return &c
}
