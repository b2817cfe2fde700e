package serve

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/simctl/simctl/internal/virtualtest"
	"github.com/simctl/simctl/scenarios"
)

// sending sends events to what is served, for one test.
type sending struct {
	*testing.T
	address, token string
}

func (s sending) ok(text string) Status {
	s.Helper()
	var send []byte
	if text != "" {
		send = []byte(text)
	}
	status, err := Send(s.Context(), s.address, s.token, send)
	if err != nil {
		s.Fatalf("%s: %v", text, err)
	}
	return status
}

func (s sending) wantError(text, want string, refused bool) {
	s.Helper()
	_, err := Send(s.Context(), s.address, s.token, []byte(text))
	_, bad := errors.AsType[*RefusedError](err)
	if err == nil || !strings.Contains(err.Error(), want) || bad != refused {
		s.Errorf("%s: error %v, want %q, and that it is refused: %t", text, err, want, refused)
	}
}

// until waits for a status.
func (s sending) until(what string, holds func(Status) bool) {
	s.Helper()
	for began := time.Now(); !holds(s.ok("")); time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > limit {
			s.Fatalf("waited for it in vain: %s", what)
		}
	}
}

// TestEvents: faults begin and end while a cluster is served, by themselves and by heal, and so do
// the requests of users and what clients do.
func TestEvents(t *testing.T) {
	t.Parallel()
	o := options()
	o.RPCAddr, o.Nodes, o.TimeScale = "", 3, 0.5
	where := start(t, o)
	s := sending{t, where.HTTP.String(), ""}
	client, err := api.NewClient(&api.Config{Address: "http://" + s.address})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	threeReady(t, client)
	down := func() (n int) {
		members, err := client.Agent().Members()
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range members.Members {
			if m.Status == "failed" {
				n++
			}
		}
		return n
	}

	if got := s.ok(""); len(got.Faults)+len(got.Events) != 0 || got.Faults == nil || got.Events == nil {
		t.Errorf("at first: %+v", got)
	}
	got := s.ok(`event "kill_leader" {}` + "\n" + `event "heal" { at = "1h" }`)
	if len(got.Faults) != 1 || got.Faults[0].What != "the leader is killed" || got.Faults[0].InS != nil || down() != 1 {
		t.Errorf("after the leader was killed, with %d servers down: %+v", down(), got)
	}
	if len(got.Events) != 1 || got.Events[0].What != "all faults end" || *got.Events[0].InS < 1700 || *got.Events[0].InS > 1800 {
		t.Errorf("to come, at half the time: %+v", got.Events)
	}
	if got := s.ok(`event "heal" {}`); len(got.Faults) != 0 || len(got.Events) != 1 || down() != 0 {
		t.Errorf("after all was healed, with %d servers down: %+v", down(), got)
	}
	s.ok(`event "pause_leader" { for = "2s" }`) // as soon as there is a leader, for one has just returned
	s.until("a fault that ends by itself", func(got Status) bool { return len(got.Faults) == 1 && got.Faults[0].InS != nil })
	s.until("the end of the fault", func(got Status) bool { return len(got.Faults) == 0 })

	// What users do finds a leader in the end, although it was just cut off.
	s.ok("job \"storm\" {\n type = \"system\"\n}\nevent \"register_jobs\" {}\nevent \"schedulers\" { per_server = 3 }")
	s.until("the job", func(Status) bool {
		_, _, err := client.Jobs().Info("storm", nil)
		return err == nil
	})
	s.until("the schedulers", func(Status) bool {
		workers, err := client.Agent().GetSchedulerWorkerConfig(nil)
		return err == nil && workers.NumSchedulers == 3
	})
	s.ok(`behaviour "flap" "restless" {
  up = "1h"
  down = "1s"
}
event "begin" { behaviour = "restless" }`)
	if got := s.ok(""); len(got.Faults) != 1 || got.Faults[0].What != "restless" {
		t.Errorf("what clients do is under way: %+v", got)
	}
	s.wantError(`event "begin" { behaviour = "restless" }`, "has begun already", true)
	if got := s.ok(`event "end" { behaviour = "restless" }`); len(got.Faults) != 0 {
		t.Errorf("after it has ended: %+v", got)
	}

	s.wantError(`event "kill_leaders" {}`, "kill_leader", true)
	s.wantError(`event "kill_server" { server = 4 }`, "there is no server 4", true)
	s.wantError(`event "start_clients" {}`, "Unknown event", true)
	s.wantError("event {", "on events line 1", true)
	s.wantError("", "There is no event here", true)
	s.wantError("job \"j\" {\n spec = \"/etc/passwd\"\n}\nevent \"register_jobs\" {}", "reads no files", true)
	s.wantError(`event "kill_server" { server = 1 }`+"\n"+`event "stick_applier" { server = 1 }`, "it does not run", false)
	if got := s.ok(`event "heal" {}`); len(got.Faults) != 0 || down() != 0 {
		t.Errorf("in the end: %+v", got)
	}
}

// TestEventsRefused: events of which none will come leave no trace, so that they can be sent again.
func TestEventsRefused(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		d := newDirector(&Options{TimeScale: 1}, &samples{}, scenarios.NewEventReader(3, 10))
		post := func(want int) {
			t.Helper()
			text := "behaviour \"flap\" \"f\" {\n up = \"1m\"\n down = \"1m\"\n}\nevent \"begin\" {\n behaviour = \"f\"\n}"
			w := httptest.NewRecorder()
			d.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "POST", eventsPath, strings.NewReader(text)))
			if w.Code != want {
				t.Errorf("status %d, %s, want %d", w.Code, w.Body, want)
			}
		}
		d.ahead = make([]moment, maxAhead)
		post(http.StatusTooManyRequests)
		d.ahead = nil
		for range 2 {
			go post(http.StatusServiceUnavailable) // nobody takes them
		}
		time.Sleep(time.Minute)
		go func() {
			select {
			case events := <-d.sent:
				events[0].over(nil)
			case <-t.Context().Done():
			}
		}()
		post(http.StatusOK)
		post(http.StatusBadRequest) // there is such a behaviour now
	})
}

// TestEventsOfStrangers are refused: of those without the token, and of other sites' pages.
func TestEventsOfStrangers(t *testing.T) {
	t.Parallel()
	o := options()
	o.Servers, o.RPCAddr, o.Token = 1, "", "0123456789abcdef"
	where := start(t, o)
	s := sending{t, where.HTTP.String(), ""}
	s.wantError(`event "heal" {}`, "Permission denied", false)
	s.token = o.Token
	s.ok(`event "heal" {}`)
	s.wantError(`event "stop_clients" {}`, "--nodes", true)
	s.wantError("event \"partition\" {\n from {\n clients = 0.5\n }\n}", "there are no clients", false)
	req, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+s.address+eventsPath, strings.NewReader(`event "heal" {}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Nomad-Token", o.Token)
	req.Header.Set("Sec-Fetch-Site", "cross-site")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("another site's page: %s", resp.Status)
	}
}

// TestOtherServers: what answers as nobody who serves does is named, and not taken for a status.
func TestOtherServers(t *testing.T) {
	for _, answer := range []string{"", "[]", "nonsense", `{"faults":[],"events":[{"what":"x"}]}`} {
		ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(answer)) }))
		_, err := Send(t.Context(), ts.URL, "", nil)
		if want := "what answers at " + ts.URL + " is no simctl serve"; err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", answer, err, want)
		}
		ts.Close()
	}
}

// TestAddressesWithPasswords: no error shows one.
func TestAddressesWithPasswords(t *testing.T) {
	ts := httptest.NewServer(http.NotFoundHandler())
	other := ts.Listener.Addr().String()
	for _, address := range []string{"http://user:secret@" + other, "user:secret@" + other, "http://user:se/cret@" + other, "http://user:se cret@" + other} {
		if _, err := Send(t.Context(), address, "", nil); err == nil || strings.Contains(err.Error(), "cret") {
			t.Errorf("%s: %v", address, err)
		}
	}
	ts.Close()
	if _, err := Send(t.Context(), "user:secret@"+other, "", nil); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("nobody there: %v", err)
	}
}
