package httpcall

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"syscall"
	"time"

	"github.com/onceward/onceward"
)

// Sizes of a connection's own buffers.
const (
	readBuffer  = 4 << 10
	keptBuffer  = 64 << 10 // a write buffer that grew beyond it is not kept
	inlineWrite = 16 << 10 // larger requests are written beside the reading of an answer
)

// conn is one connection to one origin. It is used by one exchange at a time.
type conn struct {
	key     origin
	tcp     *net.TCPConn
	wire    *wire
	top     net.Conn // what requests are written to: wire, or TLS on it
	raw     syscall.RawConn
	br      *bufio.Reader
	out     []byte // head and small body of the request; reused
	headCap int64  // bytes that may still be read of the head; negative: no limit
	remote  string
	reused  bool
	idleTo  time.Time // when idle: not used after it
	keep    time.Duration

	probeFunc   func(uintptr) bool
	probeQuiet  bool
	probeByte   [1]byte
	timeoutFunc func(uintptr)
	timeout     time.Duration // what timeoutFunc sets
	timeoutErr  error
}

func newConn(key origin, tcp *net.TCPConn) (*conn, error) {
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil, err
	}
	// Linger 0 from the start, not only before closing: should the process die,
	// the kernel closes for it, and must drop what it still holds.
	if err := tcp.SetLinger(0); err != nil {
		return nil, err
	}
	c := &conn{key: key, tcp: tcp, raw: raw, remote: tcp.RemoteAddr().String(), headCap: -1}
	c.wire = &wire{Conn: tcp}
	c.top = c.wire
	c.probeFunc = c.probe
	c.timeoutFunc = func(fd uintptr) { c.timeoutErr = setUserTimeout(fd, c.timeout) }
	c.br = bufio.NewReaderSize((*headReader)(c), readBuffer)
	return c, nil
}

// headReader reads from the connection and ends with header_too_big where the
// head of an answer is longer than allowed.
type headReader conn

func (h *headReader) Read(p []byte) (int, error) {
	if h.headCap == 0 {
		return 0, newFault(onceward.ClassProtocol, codeHeadTooBig)
	}
	if h.headCap > 0 && int64(len(p)) > h.headCap {
		p = p[:h.headCap]
	}
	n, err := h.top.Read(p)
	if h.headCap > 0 {
		h.headCap -= int64(n)
	}
	return n, err
}

// arm gives the connection to an exchange: deadlines, gate, and how long the
// kernel may keep unacknowledged bytes.
func (c *conn) arm(g *gate, readEnd, writeEnd time.Time) error {
	c.wire.gate = g
	if err := c.tcp.SetReadDeadline(readEnd); err != nil {
		return err
	}
	return c.tcp.SetWriteDeadline(writeEnd)
}

// boundTail sets the time after which the kernel drops unacknowledged bytes.
// A value that is set already is kept while it is within the bound and not
// needlessly short.
func (c *conn) boundTail(left time.Duration) error {
	if c.timeout > 0 && c.timeout <= left && c.timeout >= left/2 {
		return nil
	}
	c.timeout = max(left-left/8, time.Millisecond)
	if err := c.raw.Control(c.timeoutFunc); err != nil {
		return err
	}
	return c.timeoutErr
}

// cut closes the connection so that nothing that the kernel still holds is
// sent any more: linger 0 resets instead of finishing.
func (c *conn) cut() { _ = c.tcp.Close() }

// finish closes a connection whose last exchange was answered, in the polite way.
func (c *conn) finish() {
	_ = c.tcp.SetLinger(-1)
	_ = c.tcp.SetDeadline(time.Now().Add(time.Second))
	c.wire.gate = nil
	_ = c.top.Close()
	_ = c.tcp.Close()
}

// connect dials the origin, and makes the tunnel and TLS. Nothing of a request
// is sent; the gate watches the lease during handshakes, too.
func (c *Client) connect(ctx context.Context, t *target, x *exchange) (*conn, *fault) {
	dialCtx, cancel := context.WithDeadline(ctx, x.writeEnd)
	defer cancel()
	tcp, err := c.dial(dialCtx, t)
	if err != nil {
		return nil, dialFault(ctx, err)
	}
	pc, err := newConn(t.origin, tcp)
	if err != nil {
		_ = tcp.Close()
		return nil, newFault(onceward.ClassConnection, codeDial)
	}
	if err := pc.arm(&x.gate, x.end, x.writeEnd); err != nil {
		pc.cut()
		return nil, newFault(onceward.ClassConnection, codeDial)
	}
	stop := x.watch(ctx, pc)
	f := c.handshake(pc, t)
	if !stop() && f == nil {
		f = newFault(onceward.ClassTimeout, codeCanceled)
	}
	if f != nil {
		pc.cut()
		if x.gate.canceled.Load() {
			return nil, newFault(onceward.ClassTimeout, codeCanceled)
		}
		return nil, f
	}
	return pc, nil
}

func (c *Client) handshake(pc *conn, t *target) *fault {
	if c.options.Proxy != nil {
		if f := c.tunnel(pc, t); f != nil {
			return f
		}
	}
	if !t.origin.tls {
		return nil
	}
	cfg := c.tls.Clone()
	cfg.ServerName = t.origin.host
	return shake(pc, cfg)
}

// shake puts TLS on top of the connection. Why without the caller's context: its
// end and the deadline reach the connection below, and a context here would cost
// a goroutine.
func shake(pc *conn, cfg *tls.Config) *fault {
	tc := tls.Client(pc.top, cfg)
	if err := tc.HandshakeContext(context.Background()); err != nil {
		return tlsFault(err)
	}
	pc.top = tc
	return nil
}

// dial makes the TCP connection, through the proxy where one is set. The
// address is checked after the name was resolved and before the connection is
// made, so that a name cannot answer one address for the check and another for
// the call.
func (c *Client) dial(ctx context.Context, t *target) (*net.TCPConn, error) {
	d := net.Dialer{Resolver: c.options.Resolver}
	host, port := t.origin.host, t.origin.port
	if p := c.options.Proxy; p != nil {
		host, port = p.Hostname(), proxyPort(p)
		if err := c.checkLiteral(t); err != nil {
			return nil, err
		}
	} else {
		d.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
			return c.checkAddress(t, address)
		}
	}
	nc, err := d.DialContext(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, err
	}
	tcp, ok := nc.(*net.TCPConn)
	if !ok {
		_ = nc.Close()
		return nil, io.ErrUnexpectedEOF
	}
	return tcp, nil
}
