package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/proctest"
	"github.com/onceward/onceward/internal/simprovider"
	"github.com/onceward/onceward/internal/testneed"
)

// smallDisk is a file system of a few megabytes, with a SQLite ledger on it.
type smallDisk struct {
	*testing.T
	dir      string
	provider *proctest.Provider
	server   *proctest.Server
}

const smallDiskBytes = 4 << 20

func newSmallDisk(t *testing.T) *smallDisk {
	t.Helper()
	proctest.Binary(t)
	d := &smallDisk{T: t, dir: testneed.SmallDisk(t, smallDiskBytes), provider: proctest.NewProvider(t)}
	d.server = simServer(t, "sqlite:"+filepath.Join(d.dir, "ledger.db"), d.provider)
	d.server.Start("")
	return d
}

// fill leaves no byte on the disk; free takes that back.
func (d *smallDisk) fill() {
	d.Helper()
	f, err := os.OpenFile(filepath.Join(d.dir, "filler"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		d.Fatal(err)
	}
	block := make([]byte, 4096)
	for err == nil {
		_, err = f.Write(block)
	}
	if closed := f.Close(); !errors.Is(err, syscall.ENOSPC) || closed != nil {
		d.Fatalf("fill the disk: %v, %v", err, closed)
	}
}

func (d *smallDisk) free() {
	d.Helper()
	if err := os.Remove(filepath.Join(d.dir, "filler")); err != nil {
		d.Fatal(err)
	}
}

// awaitNotReady waits until the server says that it cannot record: it looks from
// time to time, and its own small writes use up the log's last room.
func (d *smallDisk) awaitNotReady() {
	d.Helper()
	for until := time.Now().Add(20 * time.Second); ; pause(d.T, 50*time.Millisecond) {
		a, err := proctest.Ask(d.Context(), "GET", d.server.URL()+"/readyz", "")
		switch {
		case a.Code == "ledger_unavailable":
			return
		case time.Now().After(until):
			d.Fatalf("a server that cannot record says that it is ready: %+v, %v", a, err)
		}
	}
}

func (d *smallDisk) ticket(id string) (proctest.Answer, error) {
	return d.server.Call(d.Context(), "tickets.create", fmt.Sprintf(`{"source":"disk","event_id":%q,"subject":"s"}`, id), 20*time.Second)
}

// refusedTicket asks for new tickets until one is refused: what the ledger's log
// has of room is used up first.
func (d *smallDisk) refusedTicket(name string) (id string) {
	d.Helper()
	for i := range 200 {
		id := fmt.Sprint(name, i)
		a, err := d.ticket(id)
		effects := d.provider.Effects("disk/" + id)
		switch {
		case err != nil:
			d.Fatal(err)
		case a.Status == 503 && a.Code == "ledger_unavailable":
			if effects.Requests != 0 {
				d.Fatalf("%s was refused and sent %d times", id, effects.Requests)
			}
			return id
		case a.Status != 200 || effects.Count != 1:
			d.Fatalf("%s: %d %s %s, %d effects", id, a.Status, a.Code, a.Detail, effects.Count)
		}
	}
	d.Fatal("a full disk refuses nothing")
	return ""
}

// once asks until a ticket is there, and wants it to be there once.
func (d *smallDisk) once(id string) proctest.Answer {
	d.Helper()
	for until := time.Now().Add(90 * time.Second); time.Now().Before(until); pause(d.T, 50*time.Millisecond) {
		a, err := d.ticket(id)
		if err != nil || !a.Operation.Final() {
			continue
		}
		if effects := d.provider.Effects("disk/" + id); a.Operation.State != "succeeded" || effects.Count != 1 {
			d.Errorf("%s is %+v with %d effects of %d requests", id, a.Operation, effects.Count, effects.Requests)
		}
		return a
	}
	d.Errorf("%s does not end", id)
	return proctest.Answer{}
}

func TestFullDiskRefusesClaimsAndSendsNothingUntilThereIsRoom(t *testing.T) {
	t.Parallel()
	d := newSmallDisk(t)
	d.once("before")
	d.fill()
	refused := d.refusedTicket("full")
	if a, err := d.ticket("before"); err != nil || a.Status != 200 || a.Decision != "replayed" {
		t.Errorf("a recorded ticket is answered %+v, %v on a full disk, want it replayed", a, err)
	}
	d.awaitNotReady()
	d.free()
	if a := d.once(refused); a.Decision != "fresh" {
		t.Errorf("the refused ticket is %s, want it fresh: nothing of it was kept", a.Decision)
	}
}

func TestServerStartedOnAFullDiskRecoversWithIt(t *testing.T) {
	t.Parallel()
	d := newSmallDisk(t)
	d.once("before")
	d.fill()
	refused := d.refusedTicket("full")
	d.server.Kill()
	d.fill()
	if err := d.server.TryStart(""); err == nil {
		d.refusedTicket("started")
	} else if !strings.Contains(err.Error(), "disk is full") {
		t.Errorf("a server on a full disk ends with %v, want the reason", err)
	}
	d.server.Kill()
	d.free()
	d.server.Start("")
	d.once("before")
	d.once(refused)
}

// inFlight sends a ticket whose answer takes a while, and fills the disk before
// it arrives.
func (d *smallDisk) inFlight(id string) (answered chan struct{}) {
	d.Helper()
	slow := simprovider.Fault{Name: "slow", Delay: simprovider.Duration(time.Second)}
	if _, err := d.provider.AddFaults(simprovider.Script{System: "tickets", Faults: []simprovider.Fault{slow}}); err != nil {
		d.Fatal(err)
	}
	answered = make(chan struct{})
	go func() {
		defer close(answered)
		_, _ = d.ticket(id) // what it is told is asked for again
	}()
	for until := time.Now().Add(10 * time.Second); d.provider.Effects("disk/"+id).Count == 0; pause(d.T, 5*time.Millisecond) {
		if time.Now().After(until) {
			d.Fatal("the ticket is not sent")
		}
	}
	d.fill()
	return answered
}

func TestOutcomeThatFindsTheDiskFullIsRecordedOnceThereIsRoom(t *testing.T) {
	t.Parallel()
	d := newSmallDisk(t)
	d.once("before")
	answered := d.inFlight("t")
	refused := d.refusedTicket("full")
	d.free()
	<-answered
	d.once("t")
	d.once(refused)
	if n := d.provider.Effects("disk/t").Requests; n != 1 {
		t.Errorf("the ticket was sent %d times", n)
	}
}

func TestOutcomeLostOnAFullDiskIsUnknownAndThenFound(t *testing.T) {
	t.Parallel()
	d := newSmallDisk(t)
	d.once("before")
	d.fill()
	d.refusedTicket("full") // the log has no room left for an outcome
	d.free()
	answered := d.inFlight("t")
	pause(t, 1500*time.Millisecond) // the answer arrives, and cannot be recorded
	d.server.Kill()
	<-answered
	d.free()
	d.server.Start("")
	a := d.once("t")
	if n := d.provider.Effects("disk/t").Requests; n != 1 {
		t.Errorf("the ticket was sent %d times, and not looked up: %+v", n, a.Operation)
	}
}

// An account that may read the ledger and not write it cannot serve it.
func TestServerOnALedgerThatItMayNotWriteRefusesToStart(t *testing.T) {
	t.Parallel()
	d := newSmallDisk(t)
	d.once("before")
	d.server.Signal(syscall.SIGTERM)
	d.server.Wait()
	if err := syscall.Mount("", d.dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	requests := len(d.provider.Summary().Items)
	if err := d.server.TryStart(""); err == nil || !strings.Contains(err.Error(), "read-only file system") {
		t.Errorf("a server on a read-only disk: %v, want the reason", err)
	}
	if err := syscall.Mount("", d.dir, "", syscall.MS_REMOUNT, ""); err != nil {
		t.Fatal(err)
	}
	d.server.Start("")
	d.once("before")
	if n := len(d.provider.Summary().Items); n != requests {
		t.Errorf("%d tickets were asked for, want %d", n, requests)
	}
}
