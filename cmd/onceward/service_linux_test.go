package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/proctest"
)

// TestAServiceManagerHearsOfTheServerAndNothingIsLostWhenItStops starts the program
// as systemd does, and ends it while requests are under way.
func TestAServiceManagerHearsOfTheServerAndNothingIsLostWhenItStops(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "notify") // the path of a socket is 107 bytes at most, and the test's folder has its long name
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "s")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	provider := proctest.NewProvider(t)
	db := "sqlite:" + filepath.Join(t.TempDir(), "ledger.db")
	contracts := []string{contractFile(t, hastyTicket)}
	start := func() *proctest.Server {
		s := proctest.NewServer(t, db, contracts, "SIM_URL="+provider.URL, "TICKETS_TOKEN=t", "NOTIFY_SOCKET="+path, "WATCHDOG_USEC=200000")
		s.Start("")
		return s
	}
	srv := start()
	hear := hearing(t, conn)
	hear("READY=1")
	hear("WATCHDOG=1")
	hear("WATCHDOG=1") // it goes on

	const asked = 40
	answers := make(chan string, asked)
	for i := range asked {
		go func() {
			a, err := srv.Call(t.Context(), "tickets.hasty", ticketInput(i), 5*time.Second)
			if err != nil {
				answers <- "refused"
				return
			}
			answers <- a.Operation.State
		}()
	}
	first := <-answers // the rest is under way
	srv.Signal(syscall.SIGTERM)
	hear("STOPPING=1")
	if end := srv.Wait(); !strings.Contains(end, "exit status 0") {
		t.Errorf("it ended with %s", end)
	}
	told := map[string]int{first: 1}
	for range asked - 1 {
		told[<-answers]++
	}
	t.Logf("what %d callers were told around the stop: %v", asked, told)

	again := start()
	for i := range asked {
		if op := final(t, again, "tickets.hasty", ticketInput(i)); op.State != "succeeded" {
			t.Errorf("%d is %s", i, op.State)
		}
		if n := provider.Effects(ticketName(i)).Count; n != 1 {
			t.Errorf("%d has %d tickets", i, n)
		}
	}
}

func ticketName(i int) string  { return "stop-" + string(rune('a'+i/26)) + string(rune('a'+i%26)) }
func ticketInput(i int) string { return `{"id":"` + ticketName(i) + `","text":"t"}` }

// hearing returns a function that waits for a message with that line.
func hearing(t *testing.T, conn *net.UnixConn) func(line string) {
	buf := make([]byte, 512)
	return func(line string) {
		t.Helper()
		for {
			if err := conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
				t.Fatal(err)
			}
			n, err := conn.Read(buf)
			if err != nil {
				t.Fatalf("waiting for %s: %v", line, err)
			}
			if strings.Contains("\n"+string(buf[:n])+"\n", "\n"+line+"\n") {
				return
			}
		}
	}
}
