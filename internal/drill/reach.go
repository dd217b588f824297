package drill

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"time"
)

// reachWithin bounds the first connection to a sandbox.
const reachWithin = 15 * time.Second

// reach connects to each place once before anything is written: a sandbox that
// is not there, or whose certificate is not believed, breaks no promise, and no
// scenario has to wait for what will not come.
func reach(ctx context.Context, subjects []*subject) error {
	tried := map[string]bool{}
	for _, s := range subjects {
		if s.Open != nil {
			continue // it is started for each scenario
		}
		for _, origin := range s.Tool.Origins() {
			if tried[origin] {
				continue
			}
			tried[origin] = true
			if err := connect(ctx, origin); err != nil {
				return fmt.Errorf("nothing was written: no connection to the sandbox %s: %w", origin, err)
			}
		}
	}
	return nil
}

// connect opens a connection as the proxy will, and closes it.
func connect(ctx context.Context, origin string) error {
	u, err := url.Parse(origin)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, reachWithin)
	defer cancel()
	port := u.Port()
	dial := new(net.Dialer).DialContext
	switch {
	case u.Scheme == "https":
		dial = new(tls.Dialer).DialContext
		if port == "" {
			port = "443"
		}
	case port == "":
		port = "80"
	}
	c, err := dial(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return err
	}
	_ = c.Close() // nothing was said on it
	return nil
}
