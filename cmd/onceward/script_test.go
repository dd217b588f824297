package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/onceward/onceward/internal/proctest"
)

// waiting is how many tests run at once, unless -parallel says: most of them
// wait for other processes, for leases above all, and compute nothing.
const waiting = "10"

func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", waiting); err != nil {
		panic(err) // the flag is there in every test program
	}
	testscript.Main(cleaning{m}, map[string]func(){"onceward": main})
}

// cleaning removes what the process tests built and made.
type cleaning struct{ *testing.M }

func (c cleaning) Run() int {
	defer proctest.Remove()
	code := c.M.Run()
	if err := migrated.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	return code
}

// TestScripts runs one behaviour a file, on the real program.
func TestScripts(t *testing.T) {
	t.Parallel()
	refuseStops(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			listen := proctest.FreeAddress(t)
			sim := proctest.FreeAddress(t)
			e.Setenv("LISTEN", listen)
			e.Setenv("ONCEWARD_SERVER", "http://"+listen)
			e.Setenv("SIM", sim)
			e.Setenv("SIM_URL", "http://"+sim)
			examples, err := os.Getwd()
			if err != nil {
				return err
			}
			e.Setenv("EXAMPLES", examples+"/../../examples")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"ready": ready, "post": post200, "opid": operationID, "replayid": replayID, "end": endBackground, "signal": signalBackground, "eventually": eventually,
			"exits": exitsWith, "stranger": startStranger, "eventually-refused": eventuallyRefused, "tokenid": tokenID, "sentence": sentenceToConfirm, "grepsecret": grepSecret, "deliver": deliverSigned},
	})
}

// ready waits until the server, or the address given, answers.
func ready(ts *testscript.TestScript, _ bool, args []string) {
	address := ts.Getenv("ONCEWARD_SERVER") + "/readyz"
	if len(args) == 1 {
		address = args[0]
	}
	for until := time.Now().Add(30 * time.Second); time.Now().Before(until); <-time.After(20 * time.Millisecond) {
		res, err := http.Get(address) //nolint:noctx // bounded by the loop
		if err == nil {
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return
			}
		}
	}
	ts.Fatalf("%s does not answer", address)
}

// operationID sets OP to the first operation of a page.
func operationID(ts *testscript.TestScript, _ bool, args []string) {
	var page struct {
		Operations []struct {
			ID       string
			Digest   string
			Contract string `json:"contract_version"`
		}
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &page))
	if len(page.Operations) == 0 {
		ts.Fatalf("the page is empty")
	}
	ts.Setenv("OP", page.Operations[0].ID)
	ts.Setenv("DIGEST", page.Operations[0].Digest)
	ts.Setenv("CONTRACT", page.Operations[0].Contract)
}

// replayID sets REPLAY to the first bulk replay of the page that was printed.
func replayID(ts *testscript.TestScript, _ bool, _ []string) {
	var page struct{ Replays []struct{ ID string } }
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &page))
	if len(page.Replays) == 0 {
		ts.Fatalf("the page is empty")
	}
	ts.Setenv("REPLAY", page.Replays[0].ID)
}

// endBackground asks a background command to end, as an operator would.
func endBackground(ts *testscript.TestScript, neg bool, args []string) {
	signalBackground(ts, neg, []string{args[0], "TERM"})
}

// signalBackground sends HUP or TERM to the background command that has the
// word among its arguments.
func signalBackground(ts *testscript.TestScript, _ bool, args []string) {
	sig := map[string]os.Signal{"HUP": syscall.SIGHUP, "TERM": syscall.SIGTERM}[args[1]]
	for _, cmd := range ts.BackgroundCmds() {
		if slices.Contains(cmd.Args, args[0]) && cmd.ProcessState == nil {
			if err := cmd.Process.Signal(sig); err == nil {
				return
			}
		}
	}
	ts.Fatalf("no background command %s", args[0])
}

// eventually runs a command until its output has a word.
func eventually(ts *testscript.TestScript, _ bool, args []string) {
	for until := time.Now().Add(30 * time.Second); time.Now().Before(until); <-time.After(50 * time.Millisecond) {
		if ts.Exec(args[1], args[2:]...) == nil && strings.Contains(ts.ReadFile("stdout"), args[0]) {
			return
		}
	}
	ts.Fatalf("%v never says %s", args[1:], args[0])
}

// deliverSigned delivers a file as the example's shop does, and wants a status:
// deliver STATUS SECRET FILE.
func deliverSigned(ts *testscript.TestScript, _ bool, args []string) {
	status, body, err := shopDelivers(ts.Getenv("ONCEWARD_SERVER"), args[1], ts.ReadFile(args[2]))
	ts.Check(err)
	if strconv.Itoa(status) != args[0] {
		ts.Fatalf("the delivery was answered %d: %s", status, body)
	}
}

// shopDelivers delivers an event as the example's shop does.
func shopDelivers(server, secret, event string) (status int, answer string, err error) {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(event))
	req, err := http.NewRequest(http.MethodPost, server+"/v1/hooks/shop", strings.NewReader(event)) //nolint:noctx // bounded by the test
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Shop-Signature", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	return res.StatusCode, string(body), err
}

// post200 posts a file to an address and wants a 2xx.
func post200(ts *testscript.TestScript, neg bool, args []string) {
	res, err := http.Post(args[0], "application/json", strings.NewReader(ts.ReadFile(args[1]))) //nolint:noctx // bounded by the test
	ts.Check(err)
	ts.Check(res.Body.Close())
	if ok := res.StatusCode/100 == 2; ok == neg {
		ts.Fatalf("%s answered %d", args[0], res.StatusCode)
	}
}

// sentenceToConfirm sets SENTENCE to the one that the last command asked for.
func sentenceToConfirm(ts *testscript.TestScript, _ bool, _ []string) {
	_, rest, found := strings.Cut(ts.ReadFile("stderr"), `"`)
	sentence, _, whole := strings.Cut(rest, `"`)
	if !found || !whole {
		ts.Fatalf("no sentence was asked for")
	}
	ts.Setenv("SENTENCE", sentence)
}

// refuseStops fails where a script uses testscript's own stop, which ends it there
// as passed: whatever stands behind is never run.
func refuseStops(t *testing.T) {
	t.Helper()
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("the scripts are not found: %v", err)
	}
	for _, name := range scripts {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains("\n"+string(text), "\nstop") {
			t.Errorf("%s stops on its way, and passes: end NAME ends a background command", name)
		}
	}
}
