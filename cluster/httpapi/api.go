package httpapi

import (
	"cmp"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/apitypes"
	"github.com/simctl/simctl/cluster/rpc"
)

// Options is what an API is made of.
type Options struct {
	Cluster *cluster.Cluster
	// Version is the release of Nomad that the servers say they are.
	Version string
	// RPC returns the address at which clients reach a server.
	RPC func(server int) netip.AddrPort
	// Token must come with every request, as ACL tokens do; empty = none is asked for.
	Token string
	// Metrics answers /v1/metrics, and Events feeds /v1/event/stream.
	Metrics http.Handler
	Events  *Events
	// MaxBody bounds the bytes of a request's body; zero means 8 MiB. BodyTimeout is how long
	// the body may take; zero means 30 s.
	MaxBody     int64
	BodyTimeout time.Duration
	// MaxAnswers is how many answers from the state are in memory at a time, being made or read by the
	// other end; zero means 64. Further ones wait. Queries that wait for a change do not count.
	MaxAnswers int
}

// API is Nomad's HTTP API of a cluster.
type API struct {
	Options
	mux     *http.ServeMux
	started time.Time
	answers chan struct{} // a place for each answer in memory
}

// New returns the API of a cluster.
func New(o Options) *API {
	o.MaxBody, o.BodyTimeout = cmp.Or(o.MaxBody, 8<<20), cmp.Or(o.BodyTimeout, 30*time.Second)
	a := &API{Options: o, mux: http.NewServeMux(), started: time.Now(), answers: make(chan struct{}, cmp.Or(o.MaxAnswers, 64))}
	for _, routes := range []func(){a.jobRoutes, a.nodeRoutes, a.evalRoutes, a.agentRoutes, a.operatorRoutes} {
		routes()
	}
	a.handle("/v1/metrics", methods{"GET": a.Metrics})
	a.handle("/v1/event/stream", methods{"GET": http.HandlerFunc(a.stream)})
	a.mux.HandleFunc("/v1/", func(w http.ResponseWriter, r *http.Request) {
		fail(w, errorf(http.StatusNotImplemented, "the simulated cluster does not support %s %s", r.Method, r.URL.Path))
	})
	return a
}

// ServeHTTP answers a request.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.guarded(w, r, a.mux) }

// Guard returns a handler that lets requests through to another one as the API does to its own: it
// refuses those that a browser sends for another site's page, and those without the token.
func (a *API) Guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { a.guarded(w, r, next) })
}

func (a *API) guarded(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if r.ContentLength != 0 {
		// decode lifts this deadline when it has read the whole body. Otherwise the deadline stays, since the server
		// reads the rest before it answers. The recorder of a test has no deadlines.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(a.BodyTimeout))
	}
	if err := crossOrigin.Check(r); err != nil {
		fail(w, errorf(http.StatusForbidden, "%v", err))
		return
	}
	if !a.allowed(r) {
		fail(w, errorf(http.StatusForbidden, "Permission denied"))
		return
	}
	next.ServeHTTP(w, r)
}

var crossOrigin = http.NewCrossOriginProtection()

// allowed reports whether a request has the token, if one is asked for.
func (a *API) allowed(r *http.Request) bool {
	given := cmp.Or(r.Header.Get("X-Nomad-Token"), strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	return a.Token == "" || subtle.ConstantTimeCompare([]byte(given), []byte(a.Token)) == 1
}

// methods are the handlers of one path. PUT stands for POST as well.
type methods map[string]http.Handler

func (a *API) handle(path string, by methods) {
	a.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		method := r.Method
		if method == http.MethodPost {
			method = http.MethodPut
		}
		if h := by[method]; h != nil {
			h.ServeHTTP(w, r)
			return
		}
		fail(w, errorf(http.StatusMethodNotAllowed, "Invalid method"))
	})
}

// statusError is an error with the HTTP status that tells it.
type statusError struct {
	code int
	text string
}

func (e *statusError) Error() string { return e.text }

func errorf(code int, format string, args ...any) error {
	return &statusError{code, fmt.Sprintf(format, args...)}
}

// fail answers with an error, which is text, as in Nomad.
func fail(w http.ResponseWriter, err error) {
	code, text := http.StatusInternalServerError, err.Error()
	var coded *statusError
	switch {
	case errors.As(err, &coded):
		code = coded.code
	case errors.Is(err, rpc.ErrNoLeader), errors.Is(err, rpc.ErrUnreachable):
		text = rpc.ErrNoLeader.Error()
	case errors.Is(err, rpc.ErrJobNotFound):
		code, text = http.StatusNotFound, rpc.ErrJobNotFound.Error()
	case errors.Is(err, rpc.ErrNodeNotFound):
		code, text = http.StatusNotFound, rpc.ErrNodeNotFound.Error()
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	Renew(w)
	w.WriteHeader(code)
	// The other end has gone if this fails: there is nobody left to tell.
	_, _ = io.WriteString(w, text)
}

// WriteTimeout is how long the other end may take to read an answer, or a part of a stream.
const WriteTimeout = 30 * time.Second

// Renew gives the other end WriteTimeout from now on.
func Renew(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(WriteTimeout)) // a test's recorder has no deadlines
}

// AnswerJSON answers with a value.
func AnswerJSON(w http.ResponseWriter, r *http.Request, v any) {
	var body []byte
	var err error
	if pretty := r.URL.Query()["pretty"]; len(pretty) > 0 && pretty[0] != "0" {
		body, err = json.MarshalIndent(v, "", "    ")
		body = append(body, '\n')
	} else {
		body, err = json.Marshal(v)
	}
	if err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	Renew(w)
	_, _ = w.Write(body) // as in fail
}

// decode reads the body of a request, within the limits.
func (a *API) decode(w http.ResponseWriter, r *http.Request, into any) error {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, a.MaxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return errorf(http.StatusRequestEntityTooLarge, "request body is larger than %d bytes", tooLarge.Limit)
	case err != nil:
		return errorf(http.StatusBadRequest, "read the request body: %v", err)
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	var plain any
	if err := errors.Join(json.Unmarshal(body, &plain), json.Unmarshal(body, into)); err != nil {
		return errorf(http.StatusBadRequest, "decode the request body as JSON: %v", err)
	}
	if path := apitypes.NullElement(plain); path != "" {
		return errorf(http.StatusBadRequest, "decode the request body as JSON: %s is null: leave it out", strings.TrimPrefix(path, "."))
	}
	return nil
}

// write returns the handler of a call that changes something. The answer is at the index that
// the call returns.
func (a *API) write(call func(w http.ResponseWriter, r *http.Request, q *query) (any, uint64, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q, err := parse(r)
		if err != nil {
			fail(w, err)
			return
		}
		body, index, err := call(w, r, q)
		if err != nil {
			fail(w, err)
			return
		}
		w.Header().Set("X-Nomad-Index", strconv.FormatUint(max(index, 1), 10))
		if index > 0 {
			body = indexed{body, index}
		}
		AnswerJSON(w, r, body)
	})
}

// indexed is a body with a field Index, as Nomad's answers have it. The types of nomad/api would write it under another
// name.
type indexed struct {
	body  any
	index uint64
}

// MarshalJSON adds the index to the body, which is an object.
func (x indexed) MarshalJSON() ([]byte, error) {
	text, err := json.Marshal(x.body)
	if err != nil {
		return nil, err
	}
	return append(fmt.Appendf(nil, `{"Index":%d,`, x.index), text[1:]...), nil
}
