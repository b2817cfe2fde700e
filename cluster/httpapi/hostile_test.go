package httpapi_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/httpapi"
)

// TestSlowReaders: whoever does not read an answer keeps others from theirs until he has gone,
// rather than answers without number in memory.
func TestSlowReaders(t *testing.T) {
	s := serve(t, 0, func(o *httpapi.Options) { o.MaxAnswers = 1 })
	big := serviceJob("big", 0)
	big.Meta = map[string]string{"filler": strings.Repeat("x", 7<<20)}
	must[*api.JobRegisterResponse](t)(wrap(s.api.Jobs().Register(big, nil)))

	slow, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	if err := slow.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(slow, "GET /v1/job/big HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReaderSize(slow, 16).ReadString('\n'); err != nil || !strings.Contains(line, "200") {
		t.Fatalf("%q, %v", line, err)
	}
	answered := make(chan error, 1)
	go func() {
		_, _, err := s.api.Jobs().List(nil)
		answered <- err
	}()
	select {
	case err := <-answered:
		t.Errorf("another answer was made meanwhile: %v", err)
	case <-time.After(300 * time.Millisecond):
	}
	if _, err := s.api.Status().Leader(); err != nil {
		t.Errorf("what is not from the state waits, too: %v", err)
	}
	slow.Close()
	select {
	case err := <-answered:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(limit):
		t.Error("the others are not answered when he has gone")
	}
}

// FuzzRequest: no request makes the API fail otherwise than by an answer.
func FuzzRequest(f *testing.F) {
	for _, r := range requests {
		method, target, _ := strings.Cut(r.request, " ")
		f.Add(method, target, r.body)
	}
	f.Add("GET", "/v1/jobs?per_page=-1&next_token=%ff&index=18446744073709551615&wait=1ns&stale", "")
	f.Add("PUT", "/v1/node/x/drain", `{"DrainSpec":{"Deadline":-9223372036854775808}}`)
	f.Add("PUT", "/v1/jobs", `{"Job":{"ID":"x","Type":"batch","TaskGroups":[null,{"Name":"g","Count":-1,"Tasks":[null]}]}}`)
	c, err := cluster.Start(context.Background(), cluster.Config{Servers: 1, NumSchedulers: 1, Policy: broker.Shedding(), Raft: alone})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		if err := c.Shutdown(); err != nil {
			f.Error(err)
		}
	})
	handler := httpapi.New(httpapi.Options{
		Cluster: c, Version: "1.4.3", Metrics: http.NotFoundHandler(), Events: &httpapi.Events{},
		RPC: func(int) netip.AddrPort { return netip.MustParseAddrPort("127.0.0.1:4647") },
	})
	f.Fuzz(func(t *testing.T, method, target, body string) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, method, "http://localhost"+target, strings.NewReader(body))
		if err != nil || !strings.HasPrefix(target, "/") {
			return
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, req)
		if w.Code < 200 || w.Code > 599 {
			t.Errorf("%s %s: status %d", method, target, w.Code)
		}
	})
}
