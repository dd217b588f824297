package simprovider

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRestartGoesOnWhereItStopped(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "provider.jsonl")
	s := start(t, Options{File: file})
	s.must(201, "POST", "/tickets", ticketBody("e1"))
	s.must(200, "POST", "/tickets/T-1/close", "")
	first := s.must(201, "POST", "/payments", paymentBody("o1"), "Idempotency-Key", "k1")
	s.must(201, "POST", "/payments/P-1/refund", `{"amount":5}`, "Idempotency-Key", "k2")
	s.do("POST", "/payments", paymentBody("o2"), "Idempotency-Key", "k3", FaultHeader, "drop_before_commit")
	s.must(201, "PUT", "/contacts/by-external-id/ada", `{"name":"Ada"}`)
	s.must(200, "PUT", "/contacts/by-external-id/ada", `{"name":"Ada"}`)
	s.must(202, "POST", "/mail", `{"to":"a","subject":"b","message_id":"m1"}`)
	s.must(200, "POST", "/fax", `{"to":"1","document":"d"}`)
	before := s.server.Summary()
	s.stop()

	s2 := start(t, Options{File: file})
	if diff := cmp.Diff(before, s2.server.Summary()); diff != "" {
		t.Errorf("books differ after the restart (-before +after):\n%s", diff)
	}
	again := s2.must(201, "POST", "/payments", paymentBody("o1"), "Idempotency-Key", "k1")
	if again.body != first.body || again.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("the key was forgotten: %s", again.body)
	}
	s2.must(409, "POST", "/tickets/T-1/close", "")
	if id := s2.must(201, "POST", "/tickets", ticketBody("e1")).field(t, "id"); id != "T-2" {
		t.Errorf("next ticket is %v, want T-2", id)
	}
	if id := s2.must(201, "POST", "/payments/P-1/refund", `{"amount":5}`, "Idempotency-Key", "k4").field(t, "id"); id != "R-2" {
		t.Errorf("next refund is %v, want R-2", id)
	}
	if row := s2.report("ada").Items[0]; row.Automations != 2 || row.Count != 1 {
		t.Errorf("contact: %+v", row)
	}
}

func TestKeyRetentionCountsThroughARestart(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "provider.jsonl")
	s := start(t, Options{File: file})
	s.must(201, "POST", "/payments", paymentBody("o1"), "Idempotency-Key", "k1")
	s.stop()
	s2 := start(t, Options{File: file})
	s2.clock.advance(DefaultKeyRetention)
	s2.must(201, "POST", "/payments", paymentBody("o1"), "Idempotency-Key", "k1")
	s2.wantCount("o1", 2, 2)
}

func TestAnsweredEffectIsInTheFileBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "provider.jsonl")
	s := start(t, Options{File: file})
	var all sync.WaitGroup
	for i := range 30 {
		all.Go(func() {
			reference := fmt.Sprint("e", i, ".")
			s.doContext(t.Context(), "POST", "/tickets", ticketBody(reference), FaultHeader, "drop_after_commit")
			data, err := os.ReadFile(file)
			if err != nil || !bytes.Contains(data, []byte(`"type":"effect"`)) ||
				bytes.Count(data, []byte(`"reference":"`+reference)) != 2 { // arrival and effect
				t.Errorf("%s is not in the file (%v)", reference, err)
			}
		})
	}
	all.Wait()
}

func TestTornLastLineIsCutOffAndAnyOtherIsNamed(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "provider.jsonl")
	s := start(t, Options{File: file})
	s.must(201, "POST", "/tickets", ticketBody("e1"))
	s.stop()
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, whole[:len(whole)-7], 0o600); err != nil {
		t.Fatal(err)
	}
	s2 := start(t, Options{File: file})
	s2.wantCount("e1", 0, 1)
	if cut, err := os.ReadFile(file); err != nil || !bytes.HasSuffix(cut, []byte("\n")) {
		t.Errorf("the torn line is still there (%v): %s", err, cut)
	}
	s2.must(201, "POST", "/tickets", ticketBody("e1"))
	s2.stop()
	s3 := start(t, Options{File: file})
	s3.wantCount("e1", 1, 2)

	broken := strings.Replace(string(whole), `"type"`, `"ty`, 1)
	other := filepath.Join(t.TempDir(), "broken.jsonl")
	if err := os.WriteFile(other, []byte(broken), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Options{File: other}); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("error %v does not name line 1", err)
	}
	if _, err := Open(Options{File: t.TempDir()}); err == nil {
		t.Error("a directory was opened as a file")
	}
}

func TestFailedStorageHasNoEffectAndIsAnError(t *testing.T) {
	t.Parallel()
	s := start(t, Options{File: filepath.Join(t.TempDir(), "provider.jsonl")})
	s.must(201, "POST", "/tickets", ticketBody("e1"))
	if err := s.server.journal.file.Close(); err != nil { // the disk goes away
		t.Fatal(err)
	}
	if code := s.must(500, "POST", "/tickets", ticketBody("e1")).code(t); code != "storage_failed" {
		t.Errorf("code %q", code)
	}
	s.wantCount("e1", 1, 1)
	s.server.journal = nil // so that the clean-up does not close the file again
}

func TestNewRefusesAFile(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("New took a file")
		}
	}()
	New(Options{File: "x"})
}

func TestLogIsOneLineARequestWithoutBodiesOrTokens(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := start(t, Options{Log: &log, Token: "hush-token"})
	auth := []string{"Authorization", "Bearer hush-token"}
	s.must(201, "POST", "/tickets", `{"title":"private","external_id":"two words"}`, auth...)
	s.do("POST", "/tickets", ticketBody("e1"), append(auth, FaultHeader, "drop_after_commit")...)
	s.must(401, "POST", "/tickets", ticketBody("e1"))
	s.must(422, "POST", "/tickets", `{}`)
	if err := s.server.Close(); err != nil { // all lines are written
		t.Fatal(err)
	}
	want := `12:00:00.250 POST /tickets ref="two words" -> 201
12:00:00.250 POST /tickets ref=e1 fault=drop_after_commit -> dropped (reset)
12:00:00.250 POST /tickets -> 401 refused
12:00:00.250 POST /tickets -> 422 refused
`
	if diff := cmp.Diff(want, log.String()); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func TestSystemClockRunsAndStopsTimers(t *testing.T) {
	t.Parallel()
	ran := make(chan struct{})
	systemClock{}.AfterFunc(time.Nanosecond, func() { close(ran) })
	<-ran
	if stop := (systemClock{}).AfterFunc(time.Hour, func() {}); !stop() {
		t.Error("an hour passed")
	}
}
