package notify

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

// Manager is the service manager. A nil Manager, and one without a socket, is
// told nothing.
type Manager struct {
	conn *net.UnixConn
	// beat is how often the manager wants a sign of life at least; 0: it wants none.
	beat time.Duration
}

// Open reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID. An error means that
// somebody wants to be told and cannot be reached: a service of Type=notify is
// stopped again then.
func Open(getenv func(string) string, pid int) (*Manager, error) {
	path := getenv("NOTIFY_SOCKET")
	if path == "" {
		return &Manager{}, nil
	}
	if !strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "@") {
		return &Manager{}, fmt.Errorf("NOTIFY_SOCKET is neither a path nor an abstract name")
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return &Manager{}, fmt.Errorf("reach the service manager: %w", err)
	}
	m := &Manager{conn: conn}
	if us, err := strconv.ParseInt(getenv("WATCHDOG_USEC"), 10, 64); err == nil && us > 0 && meant(getenv("WATCHDOG_PID"), pid) {
		m.beat = time.Duration(us) * time.Microsecond
	}
	return m, nil
}

// meant reports whether the watchdog watches this process.
func meant(watched string, pid int) bool { return watched == "" || watched == strconv.Itoa(pid) }

// Ready says that requests are answered from now on.
func (m *Manager) Ready(status string) error { return m.send("READY=1\nSTATUS=" + oneLine(status)) }

// Stopping says that the process has begun to end.
func (m *Manager) Stopping() error { return m.send("STOPPING=1\nSTATUS=draining") }

// Watch gives signs of life, twice as often as they are asked for, as long as
// alive says so, until the context ends. alive must answer soon: whoever hangs
// in it is not alive.
func (m *Manager) Watch(ctx context.Context, alive func(context.Context) bool) {
	if m == nil || m.beat == 0 {
		return
	}
	tick := time.NewTicker(m.beat / 2)
	defer tick.Stop()
	for {
		if alive(ctx) {
			_ = m.send("WATCHDOG=1") // a manager that is gone misses nothing
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Close gives the socket back.
func (m *Manager) Close() {
	if m != nil && m.conn != nil {
		_ = m.conn.Close()
	}
}

func (m *Manager) send(state string) error {
	if m == nil || m.conn == nil {
		return nil
	}
	_, err := m.conn.Write([]byte(state))
	if err != nil {
		return fmt.Errorf("tell the service manager: %w", err)
	}
	return nil
}

func oneLine(s string) string { return strings.Map(printable, s) }

func printable(r rune) rune {
	if r < ' ' || r == 0x7f {
		return ' '
	}
	return r
}
