package httpcall_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/provider/httpcall"
	"github.com/onceward/onceward/provider/providertest"
)

// childRole makes this test binary the process that is killed or stopped.
const childRole = "HTTPCALL_TEST_CHILD"

func TestMain(m *testing.M) {
	if role := os.Getenv(childRole); role != "" {
		child(role, os.Args[len(os.Args)-1])
		return
	}
	goleak.VerifyTestMain(m)
}

// stuckBody is larger than the server's window and fits into our send buffer.
const stuckBody = 128 << 10

// child sends one write to addr, tells on standard output how far it is, and
// waits on standard input where the test wants to interfere.
func child(role, addr string) {
	req := large("http://"+addr+"/a", stuckBody)
	switch role {
	case "standard":
		trace := &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { fmt.Println("written") }}
		r, _ := http.NewRequestWithContext(httptrace.WithClientTrace(context.Background(), trace), "POST", req.URL, bytes.NewReader(req.Body))
		if resp, err := http.DefaultTransport.RoundTrip(r); err == nil {
			_ = resp.Body.Close()
		}
	case "ours":
		opts := write(addr)
		opts.OnReach = func(r onceward.Reach) {
			if r == onceward.ReachBodyWritten {
				fmt.Println("written")
			}
		}
		httpcall.New(httpcall.Options{}).Send(context.Background(), req, opts)
	case "stopped":
		opts := write(addr)
		opts.NotAfter = time.Now().Add(time.Second)
		opts.BeforeWrite = func() error {
			fmt.Println("checked")
			fmt.Println(opts.NotAfter.UnixNano())
			_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
			return nil
		}
		req.Body = nil
		ev := httpcall.New(httpcall.Options{}).Send(context.Background(), req, opts)
		fmt.Println(ev.Reach, ev.ErrorCode)
	}
}

// startChild starts the test binary in a role and waits for its first line.
func startChild(tb testing.TB, role, addr, line string) (*exec.Cmd, io.Writer, *bufio.Reader) {
	tb.Helper()
	exe, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.Command(exe, addr)
	cmd.Env = append(os.Environ(), childRole+"="+role)
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	br := bufio.NewReader(out)
	if got, err := br.ReadString('\n'); err != nil || strings.TrimSpace(got) != line {
		tb.Fatalf("child said %q, %v; want %q", got, err, line)
	}
	return cmd, in, br
}

// narrow listens with a receive window that takes little of a request.
func narrow(tb testing.TB) net.Listener {
	tb.Helper()
	lc := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		return raw.Control(func(fd uintptr) {
			_ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 2048)
		})
	}}
	l, err := lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

// stuckServer does not read the body before read is closed; then it reports how
// much of it comes.
func stuckServer(tb testing.TB) (addr string, read chan struct{}, got func() int64) {
	tb.Helper()
	read = make(chan struct{})
	var n int64
	addr, wait := serveOne(tb, narrow(tb), func(c net.Conn, _ *bufio.Reader, r *http.Request) {
		<-read
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
		n, _ = io.Copy(io.Discard, r.Body)
	})
	return addr, read, func() int64 {
		close(read)
		wait()
		return n
	}
}

func TestKilledProcessLeavesNoRequestInTheKernel(t *testing.T) {
	t.Parallel()
	for role, whole := range map[string]bool{"standard": true, "ours": false} {
		addr, _, got := stuckServer(t)
		cmd, _, _ := startChild(t, role, addr, "written")
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		n := got()
		if whole && n != stuckBody {
			t.Fatalf("the trap is none: of the standard client's request %d of %d bytes arrived after its death", n, stuckBody)
		}
		if !whole && n >= stuckBody {
			t.Error("the whole request arrived after its writer had died")
		}
	}
}

func TestGivenUpWriteLeavesNoRequestInTheKernel(t *testing.T) {
	t.Parallel()
	addr, _, got := stuckServer(t)
	opts := write(addr)
	opts.Deadline = time.Second
	ev := newClient(t, httpcall.Options{}).Send(t.Context(), large("http://"+addr, stuckBody), opts)
	returned := time.Now()
	if ev.Reach != onceward.ReachBodyWritten || ev.ErrorCode != "deadline" || ev.LastByteAt.After(returned) {
		t.Errorf("evidence = %s", show(ev))
	}
	if n := got(); n >= stuckBody {
		t.Error("the whole request arrived after LastByteAt")
	}
}

func TestLeaseThatEndsWhileTheServerDoesNotReadEndsTheWrite(t *testing.T) {
	t.Parallel()
	addr, _, got := stuckServer(t)
	opts := write(addr)
	req := large("http://"+addr, 32<<20)
	opts.NotAfter = time.Now().Add(time.Second)
	ev := newClient(t, httpcall.Options{}).Send(t.Context(), req, opts)
	if took := ev.EndedAt.Sub(ev.StartedAt); took > 10*time.Second {
		t.Errorf("took %v, want the lease's end", took)
	}
	if ev.Reach != onceward.ReachHeadersWritten || ev.ErrorCode != "lease_passed" {
		t.Errorf("evidence = %s", show(ev))
	}
	if n := got(); n >= int64(len(req.Body)) {
		t.Error("the whole request arrived")
	}
}

func TestProcessStoppedBetweenCheckAndWriteDoesNotWriteAfterItsLease(t *testing.T) {
	t.Parallel()
	up := providertest.NewUpstream(t)
	cmd, in, out := startChild(t, "stopped", up.Addr(), "checked")
	var lease int64
	if _, err := fmt.Fscanln(out, &lease); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	<-time.After(time.Until(time.Unix(0, lease)) + 10*time.Millisecond)
	_, _ = io.WriteString(in, "\n")
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	said, err := out.ReadString('\n')
	if err != nil || strings.TrimSpace(said) != "connected lease_passed" {
		t.Errorf("child said %q, %v", said, err)
	}
	arrived(t, up, 0)
}

func TestKernelsOwnTimeLimitIsAsked(t *testing.T) {
	t.Parallel()
	if tail := httpcall.ByteTail(); tail != 0 {
		t.Errorf("tail = %v on a kernel with TCP_USER_TIMEOUT, want 0", tail)
	}
}
